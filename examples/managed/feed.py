"""A page of a feed on PostgreSQL without the extension: page() is what an application calls."""

import itertools

import bloomexp

LOCK = "SELECT items, today FROM seen WHERE user_id = %s FOR UPDATE"
NEW_USER = "INSERT INTO seen (user_id) VALUES (%s) ON CONFLICT DO NOTHING"
RECORD = """
    WITH shown AS (
        INSERT INTO exposures (user_id, item_id) SELECT %(user)s, unnest(%(items)s::bigint[]))
    UPDATE seen SET today = today || %(items)s::bigint[] WHERE user_id = %(user)s"""


def page(connection, user, candidates, wanted):
    """The first of the candidates that the user has not been shown, recorded as shown.

    The lock keeps a second request of the user waiting, so that it never gets the same items.
    Exposures and `today` are written together; nightly.py relies on that.  In autocommit mode
    the page is committed; in a transaction of the caller it is not, until the caller commits.
    """
    with connection.transaction():
        row = connection.execute(LOCK, [user], binary=True).fetchone()
        if row is None:
            connection.execute(NEW_USER, [user])
            row = connection.execute(LOCK, [user], binary=True).fetchone()
        items, today = row
        known = set(today)
        fresh = (item for item in bloomexp.parse(items).exclude(candidates) if item not in known)
        # psycopg does not take numpy's
        chosen = [int(item) for item in itertools.islice(dict.fromkeys(fresh), wanted)]
        if chosen:
            connection.execute(RECORD, {"user": user, "items": chosen})
        return chosen
