"""Django: the feed "shown".  Copy this file into an app; its models have the names of tables and
columns."""

from django.db import connection
from django.db.models import BooleanField, F, Func, Value


def unseen(user, item="pk"):
    """A condition for filter(): the user has not seen the row, or what another field has."""
    return Func(Value(user), F(item), template="(NOT (SELECT shown.current(%(expressions)s)",
                arg_joiner=")) @> ", output_field=BooleanField())


def ids(sql, parameters):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [row[0] for row in cursor.fetchall()]


def remaining(user, candidates):
    return ids("SELECT unnest(shown.unseen(%s, %s))", [user, candidates])


def page(model, user, candidates, wanted, fields=("user", "post", "shown_at")):
    """The next page, recorded as rows of the model; fields are its user, its item and its time."""
    meta = model._meta
    columns = [meta.get_field(field).column for field in fields]
    names = [connection.ops.quote_name(name) for name in (meta.db_table, *columns)]
    constraints = [constraint.fields for constraint in meta.total_unique_constraints]
    keys = [set(key) for key in (*meta.unique_together, *constraints)]
    sql = "INSERT INTO {0} ({1}, {2}, {3}) SELECT %s, unnest(shown.take(%s, %s, %s)), now()"
    if set(fields[:2]) in keys:
        sql += " ON CONFLICT ({1}, {2}) DO UPDATE SET {3} = excluded.{3}"
    sql += " RETURNING {2}"
    return ids(sql.format(*names), [user, user, candidates, wanted])
