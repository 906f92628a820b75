"""Runs the statements of drivers.pl by asyncpg; psycopg3.py describes input and output."""

import asyncio
import sys
import uuid

import asyncpg


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


async def main():
    connection = await asyncpg.connect()
    for line in sys.stdin:
        statement, how, user, items = line.rstrip("\n").split("\t")
        values = [int(user), items_of(how, items)][: 2 if "$2" in statement else 1]
        try:
            rows = await connection.fetch(statement, *values)
            print("ok", ",".join(map(str, rows[0][0])) if rows else "", sep="\t")
        except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            print("error", getattr(error, "sqlstate", ""), str(error).partition("\n")[0], sep="\t")
    await connection.close()


asyncio.run(main())
