"""The messages that a search is among: all of a resource, or some of its threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from threads.models import Message


@dataclass(frozen=True)
class Scope:
    """A resource, and threads of it unless all are meant; some messages left out, and
    some threads.

    ``sql`` and ``params`` are the condition on any table with the columns of
    :class:`recall.embedding.models.PlacedRow`.
    """

    resource_id: str
    thread_ids: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    without_threads: tuple[str, ...] = ()

    def sql(self, alias: str) -> str:
        conditions = [f"{alias}.resource_id = %s"]
        if self.thread_ids is not None:
            one = len(self.thread_ids) == 1
            conditions.append(f"{alias}.thread_id {'= %s' if one else '= ANY(%s)'}")
        if self.without:
            conditions.append(f"{alias}.message_id <> ALL(%s)")
        if self.without_threads:
            conditions.append(f"{alias}.thread_id <> ALL(%s)")
        return " AND ".join(conditions)

    @property
    def params(self) -> list[Any]:
        params: list[Any] = [self.resource_id]
        if self.thread_ids is not None:
            one = len(self.thread_ids) == 1
            params.append(self.thread_ids[0] if one else list(self.thread_ids))
        if self.without:
            params.append(list(self.without))
        if self.without_threads:
            params.append(list(self.without_threads))
        return params

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
    """The messages of a scope that may be hits, as a subquery with the filters."""

    def __init__(self, messages: QuerySet[Message], scope: Scope) -> None:
        messages = messages.filter(resource_id=scope.resource_id)
        if scope.thread_ids is not None:
            messages = messages.filter(thread_id__in=scope.thread_ids)
        if scope.without_threads:
            messages = messages.exclude(thread_id__in=scope.without_threads)
        self._messages = messages.order_by()

    def select(self, column: str) -> tuple[str, list[Any]]:
        """SQL that gives one column (``id`` or ``position``) of the messages."""
        sql, params = self._messages.values_list(column).query.sql_with_params()
        return sql, list(params)

    def count(self, limit: int) -> int:
        """How many there are, counted no further than ``limit``."""
        return self._messages[:limit].count()
