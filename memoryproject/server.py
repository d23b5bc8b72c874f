"""The web server: ``python -m memoryproject.server`` listens on HOST and PORT.

One process: replies stream from the event loop, and what they are made of lies in the
database, so that a second process behind the same address serves them as well.
"""

import socket

import django
import uvicorn
from django.conf import settings

# Seconds that open streams get to end when the server stops.
GRACE = 3


class Server(uvicorn.Server):
    """A server whose replies end, and are stored, as soon as it is told to stop.

    Otherwise it would first wait for the streams, which wait for the replies.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # The models that it stands on can be imported after django.setup().
        from agents.executing import interrupt_runs

        await interrupt_runs()
        await super().shutdown(sockets)


def main() -> None:
    django.setup()
    config = uvicorn.Config(
        "memoryproject.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        lifespan="on",
        ws="none",
        access_log=False,
        server_header=False,
        # Django's logging settings hold for uvicorn's lines as well.
        log_config=None,
        timeout_graceful_shutdown=GRACE,
    )
    Server(config).run()


if __name__ == "__main__":
    main()
