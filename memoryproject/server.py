"""The web server: ``python -m memoryproject.server`` listens on HOST and PORT.

One process: replies stream from the event loop, and what they are made of lies in the
database, so that a second process behind the same address serves them as well.
"""

import django
import uvicorn
from django.conf import settings

# Seconds that open streams get to end when the server stops.
GRACE = 3


def main() -> None:
    django.setup()
    uvicorn.run(
        "memoryproject.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        lifespan="off",
        ws="none",
        access_log=False,
        server_header=False,
        # Django's logging settings hold for uvicorn's lines as well.
        log_config=None,
        timeout_graceful_shutdown=GRACE,
    )


if __name__ == "__main__":
    main()
