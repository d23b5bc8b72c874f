"""The OpenAPI document of the whole API, and the page that shows it."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny

from threads.api.encoding import json_bytes
from threads.api.errors import unknown_address
from threads.api.serializers import ErrorSerializer, StaleSerializer


def _refusal(description: str, serializer: Any = ErrorSerializer) -> OpenApiResponse:
    return OpenApiResponse(serializer, description=description)


REFUSALS_OF_READS = {
    400: _refusal("A value is wrong; issues name the fields."),
    401: _refusal("No valid credentials."),
    403: _refusal("Another resource owns it, or the credentials do not allow it."),
    (404, "application/json"): _refusal(
        "It does not exist, or not within the caller's reach."
    ),
    (404, "text/plain"): OpenApiResponse(str, description="No such address."),
    429: _refusal("Too many requests; Retry-After says when."),
}
REFUSALS_OF_WRITES = {
    **REFUSALS_OF_READS,
    409: _refusal("The id is taken, or the idempotency key had another body."),
    412: _refusal("It has changed since; current is its state.", StaleSerializer),
    413: _refusal("The body or a message is too large."),
    415: _refusal("The body is not declared as JSON."),
}


class CallerScheme(OpenApiAuthenticationExtension):
    """The API key as a bearer token; a session serves as well."""

    target_class = "threads.api.access.CallerAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A key made with manage.py apikey create. "
            "On loopback none is needed.",
        }


@cache
def document() -> bytes:
    """The OpenAPI document as JSON; made once in a process."""
    return json_bytes(SchemaGenerator().get_schema(request=None, public=True))


def openapi(request: HttpRequest) -> HttpResponse:
    """``/api/openapi.json``"""
    if request.method not in ("GET", "HEAD"):
        return unknown_address()
    return HttpResponse(document(), content_type="application/json")


def without_aliases(endpoints: list[Any]) -> list[Any]:
    """Preprocessing hook: leaves out the older names of routes."""
    return [entry for entry in endpoints if "/network/" not in entry[0]]


class DocumentationView(SpectacularSwaggerSplitView):
    """``/api/docs``: the document in a page, whose files the server has itself."""

    authentication_classes = []
    permission_classes = [AllowAny]
    http_method_names = ["get", "head"]
    url_name = "openapi"
