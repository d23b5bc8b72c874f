"""Addresses of the agents' HTTP API, each path in full."""

from django.urls import path

from agents.api import memory, missing, runs, views

AGENT = "api/agents/<str:agent_id>"
THREAD = "api/memory/threads/<str:thread_id>"
MESSAGE = f"{THREAD}/messages/<str:message_id>"

urlpatterns = [
    path("api/agents", views.agents, name="agents"),
    path(AGENT, views.agent, name="agent"),
    path(f"{AGENT}/generate", views.generate, name="agent-generate"),
    path(f"{AGENT}/stream", views.stream, name="agent-stream"),
    path(f"{AGENT}/stream-until-idle", views.stream, name="agent-stream-idle"),
    path(f"{AGENT}/network", views.stream, name="agent-network"),
    path(f"{AGENT}/observe", views.observe, name="agent-observe"),
    path(f"{AGENT}/approve-tool-call", views.decide(True), name="agent-approve"),
    path(f"{AGENT}/decline-tool-call", views.decide(False), name="agent-decline"),
    path(f"{AGENT}/threads/abort", views.abort_thread, name="agent-abort"),
    path(f"{AGENT}/suspended-runs", views.suspended_runs, name="agent-suspended"),
    *(
        path(f"{AGENT}/{what}", missing.not_offered, {"what": what})
        for what in missing.INSTEAD
    ),
    path("api/chat", views.chat, name="chat"),
    path("api/chat/<str:chat_id>/stream", views.resume_chat, name="chat-resume"),
    path("chat/<str:agent_id>", views.chat, name="agent-chat"),
    path(
        "chat/<str:agent_id>/<str:chat_id>/stream",
        views.resume_chat,
        name="agent-chat-resume",
    ),
    path("api/runs", runs.run_list, name="runs"),
    path("api/runs/<str:run_id>", runs.run, name="run"),
    path("api/runs/<str:run_id>/events", runs.events, name="run-events"),
    path("api/runs/<str:run_id>/stop", runs.stop, name="run-stop"),
    path(f"{THREAD}/context", memory.context, name="thread-context"),
    path(f"{THREAD}/suggest-title", memory.title, name="thread-suggest-title"),
    path(f"{MESSAGE}/edit", memory.edit, name="message-edit"),
    path(f"{MESSAGE}/regenerate", memory.regenerate, name="message-regenerate"),
]
