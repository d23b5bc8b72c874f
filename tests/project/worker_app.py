"""A Celery application with the project's settings and a task that can be killed."""

import os
import time
from pathlib import Path

from celery import Celery

app = Celery("tests.project.worker_app")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.result_backend = "disabled://"
app.conf.beat_schedule = {}


@app.task(name="tests.mark_and_wait")
def mark_and_wait(folder: str) -> None:
    """Leaves its process number; the first to run waits to be killed."""
    started = Path(folder)
    number = len(list(started.iterdir()))
    (started / f"{number}-{os.getpid()}").touch()
    if number == 0:
        time.sleep(60)


@app.task(name="tests.mark")
def mark(folder: str, name: str) -> None:
    (Path(folder) / name).touch()
