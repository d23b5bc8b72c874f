"""A Celery worker with the project's settings loses no task."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from celery import Task

from memoryproject.embedded.broker import EmbeddedBroker
from tests.project.instances import ROOT, gone, until
from tests.project.worker_app import app, mark, mark_and_wait


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(tmp_path / "var")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def worker(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[subprocess.Popen]:
    process = start_worker(broker, tmp_path)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def send(broker: EmbeddedBroker, task: Task, *arguments: str) -> None:
    with app.connection_for_write(broker.url()) as connection:
        task.apply_async(arguments, connection=connection)


def start_worker(broker: EmbeddedBroker, tmp_path: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "--app", "tests.project.worker_app"),
            *("worker", "--queues", "default", "--concurrency", "1"),
            *("--without-gossip", "--without-mingle"),
        ],
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "memoryproject.settings",
            "CELERY_BROKER_URL": broker.url(),
            "VAR_DIR": str(tmp_path / "var"),
        },
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_task_of_a_killed_process_is_run_again(worker, broker, marks):
    send(broker, mark_and_wait, str(marks))
    first = until(lambda: list(marks.iterdir()))[0]
    psutil.Process(int(first.name.split("-")[1])).kill()
    names = until(lambda: len(found := sorted(marks.iterdir())) == 2 and found)
    assert [path.name.split("-")[0] for path in names] == ["0", "1"]


def test_killed_worker_takes_its_pool_along(worker, broker, marks):
    send(broker, mark_and_wait, str(marks))
    first = until(lambda: list(marks.iterdir()))[0]
    pool = psutil.Process(int(first.name.split("-")[1]))
    worker.kill()
    assert gone([pool])


def test_worker_serves_again_after_the_broker_was_killed(worker, broker, marks):
    send(broker, mark, str(marks), "before")
    until(lambda: (marks / "before").exists())
    broker.process.kill()
    broker.process.wait()
    broker.start()
    send(broker, mark, str(marks), "after")
    until(lambda: (marks / "after").exists())
