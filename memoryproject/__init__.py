"""The project: settings, addresses, and the services it starts by itself."""

from memoryproject.celery import app as celery_app

__all__ = ["celery_app"]
