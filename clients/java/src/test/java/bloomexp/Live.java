package bloomexp;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Compares survivors with the server's, for each filter of the table "seen". */
final class Live {
    private static final Map<String, String> CANDIDATE = Map.of(
            "integer", "i", "text", "i::text", "uuid", "md5(i::text)::uuid", "bytea", "int8send(i)");

    private Live() {
    }

    public static void main(String[] arguments) throws SQLException {
        int passed = 0;
        int failed = 0;

        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT user_id, note, coalesce((bloom_info(items)).kind, 'integer'),"
                        + " items, items::bytea FROM seen WHERE items IS NOT NULL")) {
            while (row.next()) {
                if (agrees(connection, row.getLong(1), row.getString(3), BloomFilter.parse(row.getString(4)))
                        && agrees(connection, row.getLong(1), row.getString(3), BloomFilter.parse(row.getBytes(5)))) {
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

    private static boolean agrees(Connection connection, long user, String kind, BloomFilter filter) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT candidates, candidates - items FROM seen, (SELECT array_agg("
                        + CANDIDATE.get(kind) + ") FROM generate_series(1::bigint, 2000) i) c (candidates)"
                        + " WHERE user_id = " + user)) {
            row.next();
            List<Object> candidates = Arrays.asList((Object[]) row.getArray(1).getArray());
            // deepEquals, because bytea is an array itself
            return Arrays.deepEquals(filter.exclude(candidates).toArray(), (Object[]) row.getArray(2).getArray());
        }
    }
}
