"""Database work for asynchronous callers, in a bounded pool of threads.

Django's ORM blocks; on the event loop it would stop every other stream. Each piece of
work runs in a thread of the pool and gives its connection back when it ends, so a slow
client never holds one.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")
Self = TypeVar("Self")

# As many as the connection pool can serve at its default size, less a few for others.
MAX_THREADS = int(os.environ.get("DATABASE_THREADS", "8"))

_pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="database")


async def in_database_thread(
    func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """``func(*args, **kwargs)`` off the event loop. Context variables are carried along.

    A cancelled caller does not stop work that has begun: it ends by itself, whole.
    """
    context = contextvars.copy_context()
    call = functools.partial(context.run, _with_own_connection, func, args, kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool, call)


def _with_own_connection(func, args, kwargs):
    try:
        return func(*args, **kwargs)
    finally:
        connections.close_all()


def twin(
    verb: Callable[Concatenate[Self, P], T],
) -> Callable[Concatenate[Self, P], Awaitable[T]]:
    """The asynchronous form of a method: the same call, awaited."""

    async def awaited(self: Self, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_database_thread(verb, self, *args, **kwargs)

    functools.update_wrapper(awaited, verb)
    awaited.__name__ = f"a{verb.__name__}"
    return awaited
