"""Addresses of the HTTP API, each path in full."""

urlpatterns = []
