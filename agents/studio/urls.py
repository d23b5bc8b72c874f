"""Addresses of Studio, each path in full."""

from django.contrib.auth import views as auth
from django.urls import path

from agents.studio import actions, lists, sending, stream, views

urlpatterns = [
    path("", views.new_thread, name="studio"),
    path("t/<path:thread_id>", views.open_thread, name="studio-thread"),
    path("studio/threads", lists.threads, name="studio-threads"),
    path("studio/changes", lists.changes, name="studio-changes"),
    path("studio/messages", lists.older_messages, name="studio-messages"),
    path("studio/source", lists.source, name="studio-source"),
    path("studio/context", lists.context, name="studio-context"),
    path("studio/memory", lists.working_memory, name="studio-memory"),
    path("studio/send", sending.send, name="studio-send"),
    path("studio/retry", sending.retry, name="studio-retry"),
    path("studio/edit", sending.edit, name="studio-edit"),
    path("studio/again", sending.again, name="studio-again"),
    path("studio/rename", actions.rename, name="studio-rename"),
    path("studio/archive", actions.archive, name="studio-archive"),
    path("studio/delete", actions.delete, name="studio-delete"),
    path("studio/resource", actions.choose_resource, name="studio-resource"),
    path("studio/theme", actions.choose_theme, name="studio-theme"),
    path("studio/runs/<path:run_id>/events", stream.events, name="studio-events"),
    path("studio/runs/<path:run_id>/stop", sending.stop, name="studio-stop"),
    path("login", views.Login.as_view(), name="login"),
    path("logout", auth.LogoutView.as_view(next_page="login"), name="logout"),
]
