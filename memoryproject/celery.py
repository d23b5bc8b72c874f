"""The Celery application. Its settings are the ``CELERY_*`` names of the settings."""

import os

from celery import Celery
from celery.signals import beat_embedded_init, worker_process_init

from memoryproject.embedded.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryproject.settings")

app = Celery("memoryproject")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_process_init.connect
@beat_embedded_init.connect
def end_with_the_worker(**_: object) -> None:
    """A killed worker takes its pool and its beat along."""
    die_with_parent()
