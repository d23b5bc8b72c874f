"""Handing tasks over while the broker is well, away, or silent."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from celery import Celery
from django.conf import settings
from django.db import transaction

from memoryproject.embedded.broker import EmbeddedBroker
from threads import dispatch


@pytest.fixture(autouse=True)
def awake() -> Iterator[None]:
    dispatch.BrokerRest.until = 0.0
    yield
    dispatch.BrokerRest.until = 0.0


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.fixture
def absent_broker(tmp_path: Path) -> str:
    return f"redis+socket://{tmp_path}/none.sock?virtual_host=0"


def task_of(broker_url: str):
    app = Celery("tests.dispatch", set_as_current=False)
    app.config_from_object(settings, namespace="CELERY")
    app.conf.broker_url = broker_url

    @app.task(name="tests.remember")
    def remember(thread_id: str) -> None:
        """Never runs: only its hand-over is of interest."""

    return remember


def test_published_task_lies_in_its_queue(tmp_path):
    broker = EmbeddedBroker(tmp_path / "var")
    broker.start()
    try:
        assert dispatch.publish(task_of(broker.url()), "thread-1") is True
        client = redis.Redis(unix_socket_path=str(broker.socket))
        assert client.llen("default") == 1
    finally:
        broker.stop()


def test_absent_broker_is_tried_each_time(absent_broker):
    task = task_of(absent_broker)
    assert dispatch.publish(task, "thread-1") is False
    assert dispatch.BrokerRest.until == 0.0


def test_silent_broker_is_left_alone_for_a_while(silent_broker):
    task = task_of(silent_broker)
    assert dispatch.publish(task, "thread-1") is False
    rest = dispatch.BrokerRest.until
    assert rest > 0.0
    assert dispatch.publish(task, "thread-2") is False
    assert dispatch.BrokerRest.until == rest


@pytest.mark.django_db(transaction=True)
def test_commit_succeeds_when_the_broker_is_absent(absent_broker):
    with transaction.atomic():
        dispatch.enqueue_on_commit(task_of(absent_broker), "thread-1")


@pytest.mark.django_db(transaction=True)
def test_nothing_is_handed_over_before_the_commit(tmp_path):
    broker = EmbeddedBroker(tmp_path / "var")
    broker.start()
    try:
        task = task_of(broker.url())
        client = redis.Redis(unix_socket_path=str(broker.socket))
        with transaction.atomic():
            dispatch.enqueue_on_commit(task, "thread-1")
            assert client.llen("default") == 0
        assert client.llen("default") == 1
    finally:
        broker.stop()
