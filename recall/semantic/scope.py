"""The messages that a search is among: all of a resource, or some of its threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from threads.models import Message


@dataclass(frozen=True)
class Scope:
    """A resource, and threads of it unless all are meant.

    ``sql`` and ``params`` are the condition on any table with the columns of
    :class:`recall.embedding.models.PlacedRow`.
    """

    resource_id: str
    thread_ids: tuple[str, ...] | None = None

    def sql(self, alias: str) -> str:
        if self.thread_ids is None:
            return f"{alias}.resource_id = %s"
        if len(self.thread_ids) == 1:
            return f"{alias}.thread_id = %s AND {alias}.resource_id = %s"
        return f"{alias}.thread_id = ANY(%s) AND {alias}.resource_id = %s"

    @property
    def params(self) -> list[Any]:
        if self.thread_ids is None:
            return [self.resource_id]
        if len(self.thread_ids) == 1:
            return [self.thread_ids[0], self.resource_id]
        return [list(self.thread_ids), self.resource_id]

    def count(self, limit: int) -> int:
        """How many of its messages have words, counted no further than ``limit``."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM (SELECT FROM recall_messageterms t "
                f"WHERE {self.sql('t')} LIMIT %s) AS counted",
                [*self.params, limit],
            )
            return cursor.fetchone()[0]

    def size(self) -> int:
        """About how many messages there are, from the counts kept with the threads."""
        condition = "t.resource_id = %s"
        params: list[Any] = [self.resource_id]
        if self.thread_ids is not None:
            condition += " AND t.id = ANY(%s)"
            params.append(list(self.thread_ids))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT coalesce(sum(t.message_count), 0)::bigint "
                f"FROM threads_thread t WHERE {condition}",
                params,
            )
            return cursor.fetchone()[0]


class Matching:
    """The messages that may be hits, as a subquery that filters were built into."""

    def __init__(self, messages: QuerySet[Message]) -> None:
        self._messages = messages.order_by()

    def select(self, column: str) -> tuple[str, list[Any]]:
        """SQL that gives one column (``id`` or ``position``) of the messages."""
        sql, params = self._messages.values_list(column).query.sql_with_params()
        return sql, list(params)

    def count(self, limit: int) -> int:
        """How many there are, counted no further than ``limit``."""
        return self._messages[:limit].count()
