"""Threads without messages come last in the order by newest activity."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("threads", "0004_message_facets")]

    operations = [
        migrations.RemoveIndex("thread", "thread_page_by_activity"),
        migrations.RemoveIndex("thread", "thread_by_activity"),
        migrations.AddIndex(
            "thread",
            models.Index(
                "resource",
                models.F("last_message_at").asc(nulls_first=True),
                "id",
                name="thread_page_by_activity",
            ),
        ),
        migrations.AddIndex(
            "thread",
            models.Index(
                models.F("last_message_at").asc(nulls_first=True),
                "id",
                name="thread_by_activity",
            ),
        ),
    ]
