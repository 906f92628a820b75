package bloomexp;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Beside a server: "live" compares survivors with the server's, for each filter of the table
 * "seen"; "speed" measures what a feed does, for user 42 of bench/outside.
 */
final class Server {
    private static final Map<String, String> CANDIDATE = Map.of(
            "integer", "i", "text", "i::text",
            "uuid", "md5(i::text)::uuid", "bytea", "int8send(i)");
    private static final int CALLS = 5000;

    private interface Call {
        Object run() throws SQLException;
    }

    private Server() {
    }

    public static void main(String[] arguments) throws SQLException {
        if (arguments[0].equals("live")) {
            live();
        } else {
            speed();
        }
    }

    private static void live() throws SQLException {
        int passed = 0;
        int failed = 0;

        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT user_id, note, coalesce((bloom_info(items)).kind, 'integer'),"
                        + " items, items::bytea FROM seen WHERE items IS NOT NULL")) {
            while (row.next()) {
                if (agrees(connection, row.getLong(1), row.getString(3),
                        BloomFilter.parse(row.getString(4)))
                        && agrees(connection, row.getLong(1), row.getString(3),
                            BloomFilter.parse(row.getBytes(5)))) {
                    passed++;
                } else {
                    failed++;
                    System.out.println("other survivors than the server's: " + row.getString(2));
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    private static boolean agrees(Connection connection, long user, String kind,
        BloomFilter filter) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT candidates, candidates - items FROM seen, (SELECT array_agg("
                        + CANDIDATE.get(kind)
                        + ") FROM generate_series(1::bigint, 2000) i) c (candidates)"
                        + " WHERE user_id = " + user)) {
            row.next();
            List<Object> candidates = Arrays.asList((Object[]) row.getArray(1).getArray());
            // deepEquals, because bytea is an array itself
            return Arrays.deepEquals(filter.exclude(candidates).toArray(),
                (Object[]) row.getArray(2).getArray());
        }
    }

    private static void speed() throws SQLException {
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                PreparedStatement fetch = connection.prepareStatement(
                        "SELECT items::bytea FROM seen WHERE user_id = ?");
                PreparedStatement send = connection.prepareStatement(
                        "SELECT bloom_exclude_packed(?, "
                        + "(SELECT items FROM seen WHERE user_id = ?))");
                ResultSet row = connection.createStatement().executeQuery(
                        "SELECT items::bytea, candidates FROM seen WHERE user_id = 42")) {
            row.next();
            byte[] value = row.getBytes(1);
            long[] candidates = Stream.of((Long[]) row.getArray(2).getArray())
                .mapToLong(Long::longValue).toArray();
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
    private static long[] excludePacked(PreparedStatement statement,
        long[] candidates) throws SQLException {
        ByteBuffer packed = ByteBuffer.allocate(Long.BYTES * candidates.length)
            .order(ByteOrder.LITTLE_ENDIAN);
        packed.asLongBuffer().put(candidates);
        statement.setBytes(1, packed.array());
        statement.setLong(2, 42);
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            LongBuffer answer = ByteBuffer.wrap(row.getBytes(1)).order(ByteOrder.LITTLE_ENDIAN)
                .asLongBuffer();
            long[] survivors = new long[answer.remaining()];
            answer.get(survivors);
            return survivors;
        }
    }

    /** Prints the median of many calls' microseconds. */
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
