"""Studio's pages."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from agents.studio.conversation import model_label, pane_of
from agents.studio.sidebar import list_rows, shown_title
from agents.studio.viewer import RESOURCE_COOKIE, THEMES, Viewer, page, theme_of
from threads.identifiers import new_id
from threads.models import Resource

# Resources that the switcher offers.
MAX_RESOURCES = 30


@require_safe
@never_cache
@ensure_csrf_cookie
@page
def new_thread(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A chat that has not begun: nothing is stored before the first message."""
    context = {"thread_id": new_id(), "title": "New chat", "is_new": True}
    return _studio(request, viewer, context)


@require_safe
@never_cache
@ensure_csrf_cookie
@page
def open_thread(request: HttpRequest, viewer: Viewer, thread_id: str) -> HttpResponse:
    """A conversation at its newest message."""
    thread = viewer.memory.get_thread(thread_id)
    viewer = viewer.looking_at(thread)
    context = {
        "thread_id": thread.id,
        "thread": thread,
        "title": shown_title(thread),
        "pane": pane_of(thread),
    }
    return _studio(request, viewer, context)


def _studio(
    request: HttpRequest, viewer: Viewer, context: dict[str, Any]
) -> HttpResponse:
    shared = {
        "viewer": viewer,
        "theme": theme_of(request),
        "themes": [(theme, theme.capitalize()) for theme in THEMES],
        "model": model_label(),
        "max_bytes": settings.MEMORY["MAX_MESSAGE_BYTES"],
    }
    # A switch of threads replaces the pane alone. Neither form of the page may be kept
    # by the browser, which would show one in place of the other.
    if request.htmx and request.htmx.target == "pane":
        return render(request, "studio/_pane.html", shared | context)
    sidebar = {
        "rows": list_rows(viewer),
        "resources": _resources(viewer),
        "current": context["thread_id"],
    }
    return render(request, "studio/page.html", shared | context | sidebar)


def _resources(viewer: Viewer) -> list[str]:
    """Resources to choose from, newest first, for those who may choose."""
    if not viewer.may_switch:
        return []
    ids = Resource.objects.order_by("-created_at", "-id").values_list("id", flat=True)
    return list(dict.fromkeys([viewer.resource_id, *ids[:MAX_RESOURCES]]))


class Login(LoginView):
    """Signing in, for those whom the address alone does not let in."""

    template_name = "studio/login.html"
    next_page = "studio"

    def get_context_data(self, **given: Any) -> dict[str, Any]:
        return super().get_context_data(theme=theme_of(self.request), **given)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        # A choice of somebody who used this browser before.
        response.delete_cookie(RESOURCE_COOKIE)
        return response

    def get_default_redirect_url(self) -> str:
        return reverse("studio")
