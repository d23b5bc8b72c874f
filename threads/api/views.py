"""What all viewsets of the API have in common.

A view reads its parameters with :meth:`ApiViewSet.read_query` and
:meth:`ApiViewSet.read_body`, calls one operation and answers with a ``JsonReply``. The
operations raise what is to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache, wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.viewsets import ViewSet

from threads.access import Caller
from threads.api.access import caller_of
from threads.api.encoding import JsonRenderer
from threads.api.errors import invalid_body, invalid_query
from threads.api.fields import kind_of
from threads.api.parsing import json_body
from threads.api.query import order_given, query_of, without_undefined
from threads.api.wire_names import in_wire_words
from threads.errors import InvalidInput, Issue, MemoryFault
from threads.idempotency import Reply, once
from threads.reach import Reach

# A revision that nothing will ever have.
NEVER = 2**63 - 1

# Longest query string, in characters, of which the reading is kept.
MOST_KEPT = 256


class ApiViewSet(ViewSet):
    """A viewset whose refusals and spellings are the wire's."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    renderer_classes = [JsonRenderer]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """As the REST framework's, without what no view here has.

        Callers are known by :func:`caller_of` alone, and the reply is JSON whatever is
        asked for (a client that wants an event stream can read a refusal, too). So
        there is nothing to negotiate, to permit or to throttle, which took longer than
        many a reply.
        """
        self.args, self.kwargs = args, kwargs
        self.request = Request(request)
        try:
            self.request.auth = caller_of(request)
            method = request.method.lower()
            handler = (
                getattr(self, method, self.http_method_not_allowed)
                if method in self.http_method_names
                else self.http_method_not_allowed
            )
            return handler(self.request, *args, **kwargs)
        except Exception as error:
            return self.handle_exception(error)

    @property
    def caller(self) -> Caller:
        return self.request.auth

    @property
    def reach(self) -> Reach:
        return self.caller.reach

    def read_query(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The query parameters that ``serializer`` knows; others are ignored."""
        text = self.request.META["QUERY_STRING"]
        if len(text) > MOST_KEPT:
            return _read_query(serializer, text)
        return dict(_query_kept(serializer, text))

    def read_body(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The members of the body that ``serializer`` knows; others are ignored."""
        given = json_body(self.request._request)
        if given is None and serializer.may_be_absent:
            given = {}
        if not isinstance(given, dict):
            got = "undefined" if given is None else kind_of(given)
            raise invalid_body(
                Issue("root", f"Invalid input: expected object, received {got}")
            )
        given = without_undefined(given)
        return _validated(serializer, given, invalid_body)

    def expected_revision(self, present: Callable[[], int]) -> int | None:
        """The revision named by ``If-Match``; None without it or for ``*``.

        Of a list it is the one that ``present`` says is there now. A tag that is none
        of ours never matches.
        """
        tags = self.request.META.get("HTTP_IF_MATCH", "").split(",")
        tags = [tag.strip() for tag in tags if tag.strip()]
        if not tags or "*" in tags:
            return None
        revisions = {_revision_of(tag) for tag in tags}
        if len(revisions) == 1:
            return revisions.pop()
        now = present()
        return now if now in revisions else NEVER

    def has_unchanged(self, tag: str) -> bool:
        """Whether ``If-None-Match`` says that the client has the state of ``tag``."""
        given = self.request.META.get("HTTP_IF_NONE_MATCH", "")
        tags = {item.strip().removeprefix("W/") for item in given.split(",")}
        return tag in tags

    def require_json_body(self) -> None:
        """Refuses a body that is not JSON, where none is needed."""
        json_body(self.request._request)

    def handle_exception(self, exc: Exception) -> HttpResponse:
        if isinstance(exc, InvalidInput) and exc.issues:
            exc = in_wire_words(exc, self.request.method)
        if isinstance(exc, MemoryFault):
            # Without the look-up of an authenticator for the header.
            handler = api_settings.EXCEPTION_HANDLER
            return handler(exc, {})
        return super().handle_exception(exc)


class WireSerializer(serializers.Serializer):
    """Base of what is read: ``of_query`` for parameters, which are all text."""

    of_query = False
    may_be_absent = False


class QuerySerializer(WireSerializer):
    of_query = True


def _revision_of(tag: str) -> int:
    digits = tag.removeprefix("W/").strip('"')
    return int(digits) if digits.isdecimal() and len(digits) < 18 else NEVER


def required_argument(name: str) -> InvalidInput:
    """The refusal of an argument that is there and empty."""
    message = f'Argument "{name}" is required'
    return InvalidInput(message, [Issue(name, message)])


def _read_query(serializer: type[serializers.Serializer], text: str) -> dict[str, Any]:
    given = query_of(QueryDict(text))
    if "orderBy" in given:
        order = order_given(given)
        if order is None:
            del given["orderBy"]
        else:
            given["orderBy"] = order
    return _validated(serializer, given, invalid_query)


# Clients ask again and again with the same parameters; the ids are in the path.
_query_kept = lru_cache(maxsize=1024)(_read_query)


def _validated(
    serializer: type[serializers.Serializer],
    given: dict[str, Any],
    refusal: Callable[..., InvalidInput],
) -> dict[str, Any]:
    try:
        return _checker(serializer).run_validation(given)
    except serializers.ValidationError as error:
        raise refusal(*_issues(error.detail)) from None


@cache
def _checker(serializer: type[serializers.Serializer]) -> serializers.Serializer:
    """The one instance of a class that checks requests.

    Checking keeps no state in it, so threads share it; making one copies every field.
    """
    return serializer()


def _issues(errors: Any, path: str = "") -> Iterator[Issue]:
    if isinstance(errors, dict):
        for key, inner in errors.items():
            name = "" if key == api_settings.NON_FIELD_ERRORS_KEY else str(key)
            yield from _issues(inner, ".".join(filter(None, (path, name))))
    elif isinstance(errors, list):
        for index, inner in enumerate(errors):
            below = path if isinstance(inner, ErrorDetail) else f"{path}.{index}"
            yield from _issues(inner, below)
    else:
        yield Issue(path or "root", str(errors))


def idempotent(action: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """An action that a request with ``Idempotency-Key`` does once.

    A repetition gets the reply of the first, and ``Idempotent-Replayed: true``.
    """

    @wraps(action)
    def guarded(self: ApiViewSet, request: Request, *args: Any, **kwargs: Any) -> Any:
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is None:
            return action(self, request, *args, **kwargs)
        plain: HttpRequest = request._request
        first: list[HttpResponse] = []

        def work() -> Reply:
            reply = action(self, request, *args, **kwargs)
            first[:] = [reply]
            return Reply(reply.status_code, reply.content)

        reply, repeated = once(
            work,
            caller=self.caller.id,
            address=f"{plain.method} {plain.path}",
            key=key,
            content=plain.body,
        )
        if not repeated:
            return first[0]
        return HttpResponse(
            reply.body,
            status=reply.status,
            content_type="application/json",
            headers={"Idempotent-Replayed": "true"},
        )

    guarded.is_idempotent = True
    return guarded
