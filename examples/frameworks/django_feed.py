"""Django: what a user has not seen.  Tables: tables.sql; PGDATABASE says where."""

import os

import django
from django.conf import settings
from django.db import connection, models
from django.db.models.expressions import RawSQL

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}})
django.setup()


class Post(models.Model):  # seen has no model: save() would write old filters back
    id = models.BigAutoField(primary_key=True)
    published = models.DateTimeField()

    class Meta:
        app_label = "feed"
        db_table = "posts"


def unseen(user):
    """A condition for filter(): the user has not seen the post."""
    return RawSQL("NOT (SELECT items FROM seen WHERE user_id = %s) @> posts.id", [user], output_field=models.BooleanField())


def ids(sql, parameters):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [row[0] for row in cursor.fetchall()]


def remaining(user, candidates):
    return ids("SELECT unnest(CAST(%s AS bigint[]) - (SELECT items FROM seen WHERE user_id = %s))", [candidates, user])


def page(user, candidates, wanted):
    """The next page, recorded as exposures."""
    return ids("""INSERT INTO exposures (user_id, item_id)
        SELECT CAST(%s AS bigint), item_id
        FROM unnest(bloom_take('seen', CAST(%s AS bigint), CAST(%s AS bigint[]), CAST(%s AS integer))) AS item_id
        RETURNING item_id""", [user, user, candidates, wanted])


def newest(user):
    return list(Post.objects.filter(unseen(user)).order_by("-published").values_list("id", flat=True)[:3])


print(remaining(42, [42299, 42301, 42999]))  # [42301, 42999]
print(newest(42))  # [42310, 42309, 42308]
print(page(42, [42300, 42309, 42310, 42308], 2))  # [42309, 42310]
print(newest(42))  # [42308, 42307, 42306]
with connection.cursor() as cursor:  # once per day; not in transaction.atomic()
    cursor.execute("CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at')")
print(newest(42))  # [42308, 42307, 42306]
