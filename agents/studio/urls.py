"""Addresses of Studio, each path in full."""

urlpatterns = []
