"""SQLAlchemy: what a user has not seen.  Tables: tables.sql; PGDATABASE says where."""

from sqlalchemy import (BigInteger, Column, DateTime, MetaData, Table, create_engine, func, insert,
                        literal, select, text)

metadata = MetaData()
posts = Table("posts", metadata, Column("id", BigInteger, primary_key=True),
              Column("published", DateTime(timezone=True)))
exposures = Table("exposures", metadata, Column("user_id", BigInteger),
                  Column("item_id", BigInteger))


def unseen(user):
    """A condition: the user has not seen the post."""
    return text("NOT (SELECT shown.current(:seen_by)) @> posts.id").bindparams(seen_by=user)


def newest(connection, user):
    query = select(posts.c.id).where(unseen(user)).order_by(posts.c.published.desc()).limit(3)
    return connection.execute(query).scalars().all()


def remaining(connection, user, candidates):
    query = select(func.unnest(func.shown.unseen(user, candidates)))
    return connection.execute(query).scalars().all()


def page(connection, user, candidates, wanted):
    """The next page, recorded as exposures."""
    taken = select(literal(user), func.unnest(func.shown.take(user, candidates, wanted)))
    recorded = insert(exposures).from_select(["user_id", "item_id"], taken)
    return connection.execute(recorded.returning(exposures.c.item_id)).scalars().all()


engine = create_engine("postgresql+psycopg2://", future=True)
with engine.begin() as connection:  # of a session: session.flush() first, then session.connection()
    print(remaining(connection, 42, [42299, 42301, 42999]))  # [42301, 42999]
    print(newest(connection, 42))  # [42310, 42309, 42308]
    print(page(connection, 42, [42300, 42309, 42310, 42308], 2))  # [42309, 42310]
    print(newest(connection, 42))  # [42308, 42307, 42306]
with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:  # once a day
    connection.execute(text("CALL shown.rebuild()"))
    print(newest(connection, 42))  # [42308, 42307, 42306]
