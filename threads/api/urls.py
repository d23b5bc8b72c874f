"""Addresses of what describes the HTTP API, each path in full."""

from django.urls import path

from threads.api.openapi import DocumentationView, openapi

urlpatterns = [
    path("api/openapi.json", openapi, name="openapi"),
    path("api/docs", DocumentationView.as_view(), name="api-docs"),
]
