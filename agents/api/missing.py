"""Addresses that clients know and that are not offered here."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from agents.api.routing import route
from agents.registry import get_agent_by_id
from threads.access import Caller
from threads.api.encoding import JsonReply

INSTEAD = {
    "resume-stream": "Follow the run with observe, or decide about its tool call with "
    "approve-tool-call and decline-tool-call.",
    "send-message": "Send to stream: a message waits while another one is answered.",
    "threads/subscribe": "Follow a run with GET /api/runs/<id>/events.",
}


@route("POST", "GET")
async def not_offered(
    request: HttpRequest, caller: Caller, agent_id: str, what: str
) -> HttpResponse:
    """Says what to use instead."""
    get_agent_by_id(agent_id)
    return JsonReply({"error": f"Not offered. {INSTEAD[what]}"}, status=404)
