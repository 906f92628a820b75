"""Django: what a user has not seen.  Tables: tables.sql; PGDATABASE says where."""

import os

import django
from django.conf import settings
from django.db import connection, models
from django_unseen import page, remaining, unseen

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql",
                                          "NAME": os.environ["PGDATABASE"]}})
django.setup()


class Post(models.Model):
    id = models.BigAutoField(primary_key=True)
    published = models.DateTimeField()

    class Meta:
        app_label = "feed"
        db_table = "posts"


class Exposure(models.Model):
    user_id = models.BigIntegerField(primary_key=True)  # which it is not, but a model needs one
    item_id = models.BigIntegerField()
    shown_at = models.DateTimeField()

    class Meta:
        app_label = "feed"
        db_table = "exposures"


def newest(user):
    posts = Post.objects.filter(unseen(user)).order_by("-published")
    return list(posts.values_list("id", flat=True)[:3])


if __name__ == "__main__":
    print(remaining(42, [42299, 42301, 42999]))  # [42301, 42999]
    print(newest(42))  # [42310, 42309, 42308]
    fields = ("user_id", "item_id", "shown_at")
    print(page(Exposure, 42, [42300, 42309, 42310, 42308], 2, fields))  # [42309, 42310]
    print(newest(42))  # [42308, 42307, 42306]
    with connection.cursor() as cursor:  # once a day; not in transaction.atomic()
        cursor.execute("CALL shown.rebuild()")
    print(newest(42))  # [42308, 42307, 42306]
