"""Metadata equality within a thread, from one index."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# One number for each top-level scalar of the metadata, of its thread, key and value. Equal
# numbers have equal hashes however they are written (1 and 1.0), as jsonb has it.
FACETS = """
CREATE FUNCTION message_facets(thread_id text, metadata jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(hashtextextended(
        thread_id || chr(31) || entry.key, jsonb_hash_extended(entry.value, 0)
    )), '{}')
    FROM jsonb_each(
        CASE jsonb_typeof(metadata) WHEN 'object' THEN metadata ELSE '{}' END
    ) AS entry
    WHERE jsonb_typeof(entry.value) NOT IN ('object', 'array')
$$
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("threads", "0003_idempotent_replies")]

    operations = [
        migrations.RunSQL(FACETS, "DROP FUNCTION message_facets(text, jsonb)"),
        AddIndexConcurrently(
            model_name="message",
            index=GinIndex(
                OpClass(
                    models.Func(
                        models.F("thread"),
                        models.F("metadata"),
                        function="message_facets",
                    ),
                    name="array_ops",
                ),
                name="message_facets",
                fastupdate=False,
            ),
        ),
    ]
