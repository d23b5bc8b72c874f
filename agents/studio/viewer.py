"""Who looks at Studio, and whose conversations they see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from recall.memory import Memory
from threads.access import Caller
from threads.api.access import caller_of
from threads.api.errors import Forbidden, Unauthorized
from threads.errors import InvalidInput, MemoryFault, NotFound
from threads.models import Thread

RESOURCE_COOKIE = "studio_resource"
THEME_COOKIE = "studio_theme"
ZONE_COOKIE = "studio_zone"
THEMES = ("system", "light", "dark")
YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class Viewer:
    """A caller with the resource whose threads are listed and in whose name is spoken.

    ``may_switch`` tells whether other resources are within reach.
    """

    caller: Caller
    resource_id: str
    may_switch: bool
    zone: ZoneInfo

    @property
    def memory(self) -> Memory:
        """The facade, limited to what the caller reaches."""
        return Memory(author="user").within(self.caller.reach)

    def looking_at(self, thread: Thread) -> Viewer:
        """The same caller, in the resource that owns ``thread``."""
        return Viewer(self.caller, thread.resource_id, self.may_switch, self.zone)


def viewer_of(request: HttpRequest) -> Viewer:
    """The viewer of a request. Raises Unauthorized, Forbidden or InvalidInput.

    The local operator speaks as ``MEMORY["STUDIO_RESOURCE"]`` (``local``), and goes on so
    when signed in as staff, for instance to the administration. Any other signed-in user
    speaks as the resource of their name; whoever reaches all may choose another by cookie.
    """
    if "\x00" in unquote(request.get_full_path()):
        raise InvalidInput("The address holds a character that nothing is named with.")
    caller = caller_of(request)
    is_operator = caller.kind == "operator" or (
        settings.ACCESS == "loopback" and caller.reach.everything
    )
    own = settings.MEMORY.get("STUDIO_RESOURCE", "local")
    if not is_operator:
        own = caller.name
    chosen = unquote(request.COOKIES.get(RESOURCE_COOKIE, ""))
    may_switch = caller.reach.everything
    if not (chosen and may_switch and len(chosen) <= 255 and "\x00" not in chosen):
        chosen = own
    return Viewer(caller, chosen, may_switch, _zone(request))


def theme_of(request: HttpRequest) -> str:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else "system"


def _zone(request: HttpRequest) -> ZoneInfo:
    """The browser's time zone as its script noted it; UTC at the first visit."""
    try:
        return ZoneInfo(unquote(request.COOKIES.get(ZONE_COOKIE, "UTC"))[:64])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


View = Callable[..., HttpResponse]


def page(view: View) -> View:
    """A page: hands the viewer on, sends strangers to the login, shows refusals as pages."""

    @functools.wraps(view)
    def wrapper(request: HttpRequest, **arguments: str) -> HttpResponse:
        try:
            return view(request, viewer_of(request), **arguments)
        except Unauthorized:
            query = urlencode({"next": request.get_full_path()})
            return redirect(f"{reverse('login')}?{query}")
        except Forbidden as error:
            return _refusal(request, 403, str(error))
        except NotFound:
            return _refusal(request, 404)
        except InvalidInput:
            return _refusal(request, 400)

    return wrapper


def action(view: View) -> View:
    """A request of the page's script: refusals are JSON with one sentence to show."""

    @functools.wraps(view)
    def wrapper(request: HttpRequest, **arguments: str) -> HttpResponse:
        try:
            return view(request, viewer_of(request), **arguments)
        except Unauthorized:
            return refusal_json(401, "You are signed out. Sign in and try again.")
        except Forbidden as error:
            return refusal_json(403, str(error))
        except MemoryFault as error:
            return refusal_json(error.status, error.message)

    return wrapper


def given(request: HttpRequest, name: str) -> str:
    """A field that the page always sends; raises InvalidInput without it."""
    value = request.POST.get(name, "")
    if not value or "\x00" in value:
        raise InvalidInput.of(name, "is missing")
    return value


def refusal_json(status: int, sentence: str) -> JsonResponse:
    return JsonResponse({"error": sentence}, status=status)


def _refusal(request: HttpRequest, status: int, reason: str = "") -> HttpResponse:
    context = {"theme": theme_of(request), "reason": reason}
    return render(request, f"{status}.html", context, status=status)
