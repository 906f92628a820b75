import java.sql.*;
import java.util.*;

class Page {
    static final String PAGE = """
            INSERT INTO exposures (user_id, item_id, shown_at)
            SELECT u.id, item_id, now()
            FROM (SELECT ?::bigint) AS u (id), unnest(bloom_take('seen', u.id, ?::bigint[], 2)) AS item_id
            RETURNING item_id""";

    public static void main(String[] arguments) throws SQLException {
        Long[] candidates = {44001L, 703L, 704L, 705L};
        List<Long> page = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                PreparedStatement statement = connection.prepareStatement(PAGE)) {
            statement.setLong(1, 44);
            statement.setArray(2, connection.createArrayOf("bigint", candidates));
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next())
                    page.add(rows.getLong(1));
            }
        }
        System.out.println(page);
    }
}
