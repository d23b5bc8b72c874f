"""Migration operations for what Django cannot express: cascades in the database.

Rows that belong to another row (the messages of a thread, the embeddings of a message)
are removed by PostgreSQL itself. So deletion is complete whoever deletes (the API, the
admin, a shell, plain SQL), takes one statement, and never loads children into Python.
The models declare ``on_delete=DO_NOTHING, db_constraint=False`` and the migration adds
the constraint.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import migrations


def cascade(
    table: str,
    columns: Sequence[str],
    target: str,
    target_columns: Sequence[str],
    *,
    on_update: str = "NO ACTION",
) -> migrations.RunSQL:
    """A foreign key that deletes with its target, named ``<table>_<column>_cascade``."""
    name = f"{table}_{columns[0]}_cascade"
    return migrations.RunSQL(
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" '
        f"FOREIGN KEY ({_quoted(columns)}) "
        f'REFERENCES "{target}" ({_quoted(target_columns)}) '
        f"ON DELETE CASCADE ON UPDATE {on_update}",
        f'ALTER TABLE "{table}" DROP CONSTRAINT "{name}"',
    )


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)
