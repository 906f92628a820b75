import struct
import sys

import psycopg

QUERY = "SELECT bloom_exclude_packed(%s, shown.current(%s))"


def fresh(connection, user, candidates):
    """Return the candidates that the user has not seen, in their order."""
    packed = struct.pack(f"<{len(candidates)}q", *candidates)
    (survivors,) = connection.execute(QUERY, (packed, user), binary=True).fetchone()
    return [item for (item,) in struct.iter_unpack("<q", survivors)]


user, *candidates = map(int, sys.argv[1:])
with psycopg.connect() as connection:  # where the PG* variables lead
    for item in fresh(connection, user, candidates):
        print(item)
