package bloomexp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;

/** Measures what a feed does, for user 42 of bench/outside. */
final class Speed {
    private static final int CALLS = 5000;

    private interface Call {
        Object run() throws SQLException;
    }

    private Speed() {
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                PreparedStatement fetch = connection.prepareStatement("SELECT items::bytea FROM seen WHERE user_id = ?");
                PreparedStatement send = connection.prepareStatement(
                        "SELECT bloom_exclude_packed(?, (SELECT items FROM seen WHERE user_id = ?))");
                ResultSet row = connection.createStatement()
                        .executeQuery("SELECT items::bytea, candidates FROM seen WHERE user_id = 42")) {
            row.next();
            byte[] value = row.getBytes(1);
            long[] candidates = Stream.of((Long[]) row.getArray(2).getArray()).mapToLong(Long::longValue).toArray();
            BloomFilter seen = BloomFilter.parse(value);

            if (!Arrays.equals(seen.exclude(candidates), excludePacked(send, candidates))) {
                throw new AssertionError("other survivors than the server's");
            }
            median("parse", () -> BloomFilter.parse(value));
            median("exclude", () -> seen.exclude(candidates));
            median("fetch and parse", () -> fetch(fetch));
            median("packed", () -> excludePacked(send, candidates));
        }
    }

    private static BloomFilter fetch(PreparedStatement statement) throws SQLException {
        statement.setLong(1, 42);
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            return BloomFilter.parse(row.getBytes(1));
        }
    }

    /** Sends the candidates instead. */
    private static long[] excludePacked(PreparedStatement statement, long[] candidates) throws SQLException {
        ByteBuffer packed = ByteBuffer.allocate(Long.BYTES * candidates.length).order(ByteOrder.LITTLE_ENDIAN);
        packed.asLongBuffer().put(candidates);
        statement.setBytes(1, packed.array());
        statement.setLong(2, 42);
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            LongBuffer answer = ByteBuffer.wrap(row.getBytes(1)).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
            long[] survivors = new long[answer.remaining()];
            answer.get(survivors);
            return survivors;
        }
    }

    /** Prints the microseconds of one of many calls. */
    private static void median(String what, Call call) throws SQLException {
        double[] times = new double[CALLS];

        for (int i = -CALLS; i < CALLS; i++) { // the first half warms up
            long start = System.nanoTime();
            Object answer = call.run();
            if (i >= 0) {
                times[i] = (System.nanoTime() - start) / 1e3;
            }
            if (answer == null) {
                throw new AssertionError("nothing was done");
            }
        }
        Arrays.sort(times);
        System.out.printf(Locale.ROOT, "%s\t%.1f%n", what, times[CALLS / 2]);
    }
}
