import java.sql.*;
import java.util.*;

class Page {
    static final String PAGE = "INSERT INTO exposures (user_id, item_id) "
            + "SELECT ?, unnest(shown.take(?, ?, 2)) RETURNING item_id";

    public static void main(String[] arguments) throws SQLException {
        long user = 44;
        Long[] candidates = {44001L, 703L, 704L, 705L};
        List<Long> page = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"));
                PreparedStatement statement = connection.prepareStatement(PAGE)) {
            statement.setLong(1, user);
            statement.setLong(2, user);
            statement.setArray(3, connection.createArrayOf("bigint", candidates));
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next())
                    page.add(rows.getLong(1));
            }
        }
        System.out.println(page); // [703, 704]
    }
}
