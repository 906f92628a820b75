"""Django: what a user has not seen.  Tables: tables.sql; PGDATABASE says where."""

import os

import django
from django.conf import settings
from django.db import connection, models
from django.db.models.expressions import RawSQL

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}})
django.setup()


class Post(models.Model):
    id = models.BigAutoField(primary_key=True)
    published = models.DateTimeField()

    class Meta:
        app_label = "feed"
        db_table = "posts"


def unseen(user):
    """A condition for filter(): the user has not seen the post."""
    return RawSQL("NOT (SELECT seen.current(%s)) @> posts.id", [user], output_field=models.BooleanField())


def ids(sql, parameters):
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return [row[0] for row in cursor.fetchall()]


def remaining(user, candidates):
    return ids("SELECT unnest(seen.unseen(%s, %s))", [user, candidates])


def page(user, candidates, wanted):
    """The next page, recorded as exposures."""
    return ids("""INSERT INTO exposures (user_id, item_id)
        SELECT %s, unnest(seen.take(%s, %s, %s)) RETURNING item_id""", [user, user, candidates, wanted])


def newest(user):
    return list(Post.objects.filter(unseen(user)).order_by("-published").values_list("id", flat=True)[:3])


print(remaining(42, [42299, 42301, 42999]))  # [42301, 42999]
print(newest(42))  # [42310, 42309, 42308]
print(page(42, [42300, 42309, 42310, 42308], 2))  # [42309, 42310]
print(newest(42))  # [42308, 42307, 42306]
with connection.cursor() as cursor:  # once per day; not in transaction.atomic()
    cursor.execute("CALL seen.rebuild()")
print(newest(42))  # [42308, 42307, 42306]
