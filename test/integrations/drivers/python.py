"""Runs the statements of drivers.pl by the module that is named, psycopg or asyncpg.

A line of the input has a statement with $1 and $2, how to pass them, the user and
the items, or one item, with tabs between.  A line of the output has "ok" and the
array that came back, or "error", the SQLSTATE and the message.
"""

import asyncio
import re
import sys
import uuid


def items_of(how, items):
    if how == "integer":
        return int(items)
    if how == "uuid":
        return uuid.UUID(items)
    if how in ("string", "joined"):
        return items
    items = items.split(",") if items else []
    if how == "integers":
        return [int(item) for item in items]
    if how == "uuids":
        return [uuid.UUID(item) for item in items]
    return "{" + ",".join(items) + "}" if how == "literal" else items


def lines():
    for line in sys.stdin:
        statement, how, user, items = line.rstrip("\n").split("\t")
        yield statement, how, user, items_of(how, items)


def answer(array):
    print("ok", ",".join(map(str, array)), sep="\t")


def by_psycopg():
    import psycopg

    with psycopg.connect(autocommit=True) as connection:
        for statement, how, user, items in lines():
            user = user if how in ("string", "strings", "joined", "literal") else int(user)
            try:
                cursor = connection.execute(re.sub(r"\$(\d)", r"%(p\1)s", statement), {"p1": user, "p2": items})
                answer(cursor.fetchone()[0] if cursor.description else [])
            except psycopg.Error as error:
                print("error", error.sqlstate, error.diag.message_primary or error, sep="\t")


async def by_asyncpg():
    import asyncpg

    connection = await asyncpg.connect()
    for statement, _, user, items in lines():
        try:
            rows = await connection.fetch(statement, *[int(user), items][: 2 if "$2" in statement else 1])
            answer(rows[0][0] if rows else [])
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            print("error", getattr(error, "sqlstate", ""), str(error).partition("\n")[0], sep="\t")
    await connection.close()


if sys.argv[1] == "psycopg":
    by_psycopg()
else:
    asyncio.run(by_asyncpg())
