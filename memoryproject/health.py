"""Whether this process can serve requests."""

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from psycopg_pool import PoolTimeout

logger = logging.getLogger(__name__)


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 ``{"status": "ok", "database": "ok"}``; 503 when the database is away."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, PoolTimeout):
        logger.warning("The database cannot be reached", exc_info=True)
        return JsonResponse(
            {"status": "unavailable", "database": "unreachable"}, status=503
        )
    return JsonResponse({"status": "ok", "database": "ok"})
