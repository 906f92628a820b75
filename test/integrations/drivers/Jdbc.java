// Runs the statements of drivers.pl by JDBC; python.py describes input and
// output.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

class Jdbc {
    static final Pattern PARAMETER = Pattern.compile("\\$(\\d)");

    static void setItems(PreparedStatement statement, int place, String how, String list) throws SQLException {
        Connection connection = statement.getConnection();
        String[] items = list.isEmpty() ? new String[0] : list.split(",");
        switch (how) {
            case "integers":
                statement.setArray(place, connection.createArrayOf("bigint",
                        Arrays.stream(items).map(Long::valueOf).toArray()));
                break;
            case "uuids":
                statement.setArray(place, connection.createArrayOf("uuid",
                        Arrays.stream(items).map(UUID::fromString).toArray()));
                break;
            case "integer":
                statement.setLong(place, Long.parseLong(list));
                break;
            case "uuid":
                statement.setObject(place, UUID.fromString(list));
                break;
            case "string":
                statement.setString(place, list);
                break;
            case "literal":
                statement.setString(place, "{" + list + "}");
                break;
            default:
                statement.setArray(place, connection.createArrayOf("text", items));
        }
    }

    static String run(Connection connection, String text, String how, String user, String items) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(PARAMETER.matcher(text).replaceAll("?"))) {
            Matcher parameter = PARAMETER.matcher(text);
            for (int place = 1; parameter.find(); place++) {
                if (parameter.group(1).equals("1")) {
                    statement.setLong(place, Long.parseLong(user));
                } else {
                    setItems(statement, place, how, items);
                }
            }
            if (!statement.execute()) {
                return "";
            }
            ResultSet result = statement.getResultSet();
            result.next();
            return Arrays.stream((Object[]) result.getArray(1).getArray())
                    .map(String::valueOf).collect(Collectors.joining(","));
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String[] field = line.split("\t", -1);
                try {
                    System.out.println("ok\t" + run(connection, field[0], field[1], field[2], field[3]));
                } catch (SQLException error) {
                    System.out.println("error\t" + error.getSQLState() + "\t" + error.getMessage().lines().findFirst().get());
                }
            }
        }
    }
}
