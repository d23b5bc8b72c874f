"""The Content-Security-Policy of every page."""

from collections.abc import Callable
from functools import lru_cache

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse

POLICY = {
    "default-src": "'self'",
    "img-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
# The admin's look binds behaviour in attributes (Alpine) and sets styles from script;
# the API's documentation page starts itself with an inline script.
LOOSER = {
    "/admin/": {
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src": "'self' 'unsafe-inline'",
    },
    "/api/docs": {
        "script-src": "'self' 'unsafe-inline'",
        "style-src": "'self' 'unsafe-inline'",
    },
}


@lru_cache(maxsize=1024)
def policy_for(path: str) -> str:
    """The header for a page: no inline script or style but where LOOSER names it."""
    policy = dict(POLICY)
    for prefix, directives in LOOSER.items():
        if path.startswith(prefix):
            policy |= directives
    return "; ".join(f"{name} {value}" for name, value in policy.items())


class ContentSecurityMiddleware:
    """Adds the policy to every reply that does not bring its own."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if self.is_async:
            return self.acall(request)
        return self.protect(request, self.get_response(request))

    async def acall(self, request: HttpRequest) -> HttpResponse:
        return self.protect(request, await self.get_response(request))

    def protect(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", policy_for(request.path))
        return response
