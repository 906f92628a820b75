// Hibernate: what a user has not seen.  Tables: tables.sql; JDBC_URL says where.  (From 6 on:
// jakarta.persistence, createNativeQuery, setParameter.)

import java.util.Date;
import java.util.List;
import javax.persistence.*;
import org.hibernate.Session;
import org.hibernate.cfg.Configuration;

public class HibernateFeed {
    @Entity
    @Table(name = "posts")
    public static class Post {
        @Id public long id;
        public Date published;

        public String toString() { return String.valueOf(id); }
    }

    static final Session session = new Configuration().addAnnotatedClass(Post.class)
            .setProperty("hibernate.connection.url", System.getenv("JDBC_URL"))
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .buildSessionFactory().openSession();

    /** A condition for WHERE: the user has not seen the post. */
    static final String UNSEEN = "NOT (SELECT shown.current(:user)) @> p.id";

    static List<?> newest(long user) {
        String sql = "SELECT p.* FROM posts p WHERE " + UNSEEN + " ORDER BY p.published DESC";
        return session.createSQLQuery(sql)
                .addEntity(Post.class).setLong("user", user).setMaxResults(3).list();
    }

    static List<?> ids(String sql, long user, List<Long> candidates) {
        session.flush(); // exposures of the session, which would not be in the filter yet
        String literal = candidates.toString().replace('[', '{').replace(']', '}');
        return session.createSQLQuery(sql)
                .setLong("user", user).setString("candidates", literal).list();
    }

    static List<?> remaining(long user, Long... candidates) {
        return ids("SELECT unnest(shown.unseen(:user, CAST(:candidates AS bigint[])))",
                user, List.of(candidates));
    }

    /** The next page, recorded as exposures. */
    static List<?> page(long user, int wanted, Long... candidates) {
        return ids("INSERT INTO exposures (user_id, item_id) SELECT :user, "
                + "unnest(shown.take(:user, CAST(:candidates AS bigint[]), " + wanted
                + ")) RETURNING item_id", user, List.of(candidates));
    }

    public static void main(String[] arguments) {
        session.beginTransaction();
        System.out.println(remaining(42, 42299L, 42301L, 42999L)); // [42301, 42999]
        System.out.println(newest(42)); // [42310, 42309, 42308]
        System.out.println(page(42, 2, 42300L, 42309L, 42310L, 42308L)); // [42309, 42310]
        System.out.println(newest(42)); // [42308, 42307, 42306]
        session.getTransaction().commit();
        session.doWork(connection -> { // once a day; in no transaction
            connection.setAutoCommit(true);
            connection.createStatement().execute("CALL shown.rebuild()");
        });
        System.out.println(newest(42)); // [42308, 42307, 42306]
    }
}
