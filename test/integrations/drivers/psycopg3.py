"""Runs the statements of drivers.pl by psycopg 3.

A line of the input has a statement with $1 and $2, how to pass them, the user and
the items, or one item, with tabs between.  A line of the output has "ok" and the
array that came back, or "error", the SQLSTATE and the message.
"""

import re
import sys
import uuid

import psycopg


def parameters(how, user, items):
    if how == "integer":
        return int(user), int(items)
    if how == "uuid":
        return int(user), uuid.UUID(items)
    if how in ("string", "joined"):
        return user, items
    items = items.split(",") if items else []
    if how == "integers":
        return int(user), [int(item) for item in items]
    if how == "uuids":
        return int(user), [uuid.UUID(item) for item in items]
    if how == "literal":
        return user, "{" + ",".join(items) + "}"
    return user, items


with psycopg.connect(autocommit=True) as connection:
    for line in sys.stdin:
        statement, how, *values = line.rstrip("\n").split("\t")
        statement = re.sub(r"\$(\d)", r"%(p\1)s", statement)
        try:
            cursor = connection.execute(statement, dict(zip(("p1", "p2"), parameters(how, *values))))
            array = cursor.fetchone()[0] if cursor.description else []
            print("ok", ",".join(map(str, array)), sep="\t")
        except psycopg.Error as error:
            print("error", error.sqlstate, error.diag.message_primary or error, sep="\t")
