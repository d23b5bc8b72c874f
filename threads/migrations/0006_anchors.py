"""Anchors, from which pages deep inside long threads are found."""

from django.db import migrations, models

from threads.schema import cascade


class Migration(migrations.Migration):
    dependencies = [("threads", "0005_activity_without_messages")]

    operations = [
        migrations.CreateModel(
            name="Anchor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.DO_NOTHING,
                        related_name="anchors",
                        to="threads.thread",
                    ),
                ),
                ("ordinal", models.IntegerField()),
                ("created_at", models.DateTimeField()),
                ("position", models.BigIntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["thread", "ordinal"], name="anchor_by_ordinal")
                ],
            },
        ),
        cascade("threads_anchor", ["thread_id"], "threads_thread", ["id"]),
    ]
