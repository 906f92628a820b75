"""Compares survivors with the server's, for each filter of the table "seen"."""

import sys

import bloomexp
import psycopg

CANDIDATE = {"integer": "i", "text": "i::text", "uuid": "md5(i::text)::uuid", "bytea": "int8send(i)"}

passed = failed = 0
with psycopg.connect() as connection:
    filters = connection.execute(
        "SELECT user_id, note, (bloom_info(items)).kind, items, items::bytea FROM seen WHERE items IS NOT NULL"
    ).fetchall()
    for user, note, kind, text, data in filters:
        candidates, survivors = connection.execute(
            f"SELECT candidates, candidates - items FROM seen, "
            f"(SELECT array_agg({CANDIDATE[kind or 'integer']}) FROM generate_series(1::bigint, 2000) i) c (candidates) "
            f"WHERE user_id = %s", [user]).fetchone()
        if all(bloomexp.parse(value).exclude(candidates) == survivors for value in (text, data)):
            passed += 1
        else:
            failed += 1
            print(f"other survivors than the server's: {note}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
