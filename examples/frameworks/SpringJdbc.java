// Spring JDBC: what a user has not seen.  Tables: tables.sql; JDBC_URL says where.

import java.util.List;
import java.util.Map;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

class SpringJdbc {
    static final NamedParameterJdbcTemplate db =
            new NamedParameterJdbcTemplate(new DriverManagerDataSource(System.getenv("JDBC_URL")));

    /** A condition for WHERE: the user has not seen the post. */
    static final String UNSEEN = "NOT (SELECT shown.current(:user)) @> posts.id";

    static List<Long> newest(long user) {
        return db.queryForList(
                "SELECT id FROM posts WHERE " + UNSEEN + " ORDER BY published DESC LIMIT 3",
                Map.of("user", user), Long.class);
    }

    /** The candidates are a Long[]: Spring would write a List as several parameters. */
    static List<Long> remaining(long user, Long... candidates) {
        return db.queryForList("SELECT unnest(shown.unseen(:user, :candidates))",
                Map.of("user", user, "candidates", candidates), Long.class);
    }

    /** The next page, recorded as exposures. */
    static List<Long> page(long user, int wanted, Long... candidates) {
        return db.queryForList("""
                INSERT INTO exposures (user_id, item_id)
                SELECT :user, unnest(shown.take(:user, :candidates, :wanted)) RETURNING item_id""",
                Map.of("user", user, "wanted", wanted, "candidates", candidates), Long.class);
    }

    public static void main(String[] arguments) {
        System.out.println(remaining(42, 42299L, 42301L, 42999L)); // [42301, 42999]
        System.out.println(newest(42)); // [42310, 42309, 42308]
        System.out.println(page(42, 2, 42300L, 42309L, 42310L, 42308L)); // [42309, 42310]
        System.out.println(newest(42)); // [42308, 42307, 42306]
        // once a day; in no method that is @Transactional
        db.getJdbcOperations().execute("CALL shown.rebuild()");
        System.out.println(newest(42)); // [42308, 42307, 42306]
    }
}
