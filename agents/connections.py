"""Connections of the event log: asynchronous ones, beside those of the ORM.

A process that serves runs holds one connection that writes events, one that listens,
and at most ``READERS`` that read logs, however many runs and readers there are.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from django.db import connection
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

READERS = 4

# An asynchronous pool belongs to the event loop that opened it.
_pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncConnectionPool] = (
    weakref.WeakKeyDictionary()
)


def parameters() -> dict[str, Any]:
    """What psycopg needs to reach the database of the ORM."""
    given = connection.get_connection_params()
    for key in ("cursor_factory", "context", "pool", "isolation_level"):
        given.pop(key, None)
    given["application_name"] = "memory-events"
    given["prepare_threshold"] = 1
    return given


async def connect() -> AsyncConnection:
    """A connection of its own, each statement its own transaction."""
    return await AsyncConnection.connect(autocommit=True, **parameters())


async def readers() -> AsyncConnectionPool:
    """The pool that readers of logs share, opened when the first of them asks."""
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = AsyncConnectionPool(
            kwargs=parameters() | {"autocommit": True},
            min_size=0,
            max_size=READERS,
            timeout=30.0,
            max_idle=60.0,
            check=AsyncConnectionPool.check_connection,
            open=False,
        )
        await pool.open()
    return pool


async def close_readers() -> None:
    """Closes this event loop's pool, if it has one."""
    pool = _pools.pop(asyncio.get_running_loop(), None)
    if pool is not None:
        await pool.close()
