"""SQLAlchemy: what a user has not seen.  Tables: tables.sql; PGDATABASE says where."""

from sqlalchemy import ARRAY, BigInteger, Column, DateTime, MetaData, Table, cast, create_engine, func, insert, select, text

metadata = MetaData()
posts = Table("posts", metadata, Column("id", BigInteger, primary_key=True), Column("published", DateTime(timezone=True)))
exposures = Table("exposures", metadata, Column("user_id", BigInteger), Column("item_id", BigInteger))
# seen is neither a class nor in the metadata, and alembic's env.py leaves it out:
# include_name=lambda name, kind, parents: kind != "table" or name != "seen"


def unseen(user):
    """A condition: the user has not seen the post."""
    return text("NOT (SELECT items FROM seen WHERE user_id = :seen_by) @> posts.id").bindparams(seen_by=user)


def newest(connection, user):
    return connection.execute(select(posts.c.id).where(unseen(user)).order_by(posts.c.published.desc()).limit(3)).scalars().all()


def remaining(connection, user, candidates):
    statement = text("SELECT unnest(CAST(:candidates AS bigint[]) - (SELECT items FROM seen WHERE user_id = :user))")
    return connection.execute(statement, {"candidates": candidates, "user": user}).scalars().all()


def page(connection, user, candidates, wanted):
    """The next page, recorded as exposures."""
    taken = func.unnest(func.bloom_take("seen", cast(user, BigInteger), cast(candidates, ARRAY(BigInteger)), wanted)).column_valued("item_id")
    statement = insert(exposures).from_select(["user_id", "item_id"], select(cast(user, BigInteger), taken)).returning(exposures.c.item_id)
    return connection.execute(statement).scalars().all()


engine = create_engine("postgresql+psycopg2://", future=True)
with engine.begin() as connection:  # of a session: session.flush() first, then session.connection()
    print(remaining(connection, 42, [42299, 42301, 42999]))  # [42301, 42999]
    print(newest(connection, 42))  # [42310, 42309, 42308]
    print(page(connection, 42, [42300, 42309, 42310, 42308], 2))  # [42309, 42310]
    print(newest(connection, 42))  # [42308, 42307, 42306]
with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:  # once per day
    connection.execute(text("CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at')"))
    print(newest(connection, 42))  # [42308, 42307, 42306]
