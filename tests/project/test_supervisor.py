"""Small decisions of the supervisor."""

import signal
import subprocess
import sys

import pytest
from django.conf import settings

from memoryproject.embedded import processes
from memoryproject.supervisor import Child, Failure, require_free_port, served_host


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        (["memory.example.org"], "memory.example.org"),
        ([".example.org"], "example.org"),
        (["*"], "localhost"),
        ([], "localhost"),
    ],
)
def test_health_is_asked_under_a_name_that_the_server_accepts(allowed, host):
    assert served_host(allowed) == host


@pytest.mark.parametrize("port", [-1, 70000])
def test_impossible_port_is_refused_in_words(port):
    with pytest.raises(Failure, match="PORT must be between 1 and 65535"):
        require_free_port("127.0.0.1", port)


def test_address_that_is_not_the_machines_is_refused_in_words():
    with pytest.raises(Failure, match=r"Cannot listen on 192\.0\.2\.1, port 8000"):
        require_free_port("192.0.2.1", 8000)


def test_large_log_is_put_aside_once(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "LARGE_LOG", 10)
    log = tmp_path / "server.log"
    for text in ("first " * 5, "second " * 5, "short"):
        log.write_text(text)
        processes.turn_over(log)
    assert log.read_text() == "short"
    assert (tmp_path / "server.old.log").read_text() == "second " * 5


def test_tasks_return_only_after_the_longest_has_ended():
    timeout = settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]
    assert (
        timeout
        > settings.CELERY_TASK_TIME_LIMIT
        > (settings.CELERY_TASK_SOFT_TIME_LIMIT)
    )


def test_every_queue_that_tasks_are_sent_to_is_served():
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert routed | {settings.CELERY_TASK_DEFAULT_QUEUE} == set(settings.WORKER_QUEUES)


def test_periodic_runs_expire_before_the_next_is_due():
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["options"]["expires"] <= entry["schedule"]


def test_end_of_a_child_is_told_before_and_after_its_last_lines(tmp_path):
    log = tmp_path / "postgres.log"
    log.write_text("earlier\nmine\n")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    sentence = "PostgreSQL was killed by SIGKILL, so everything is stopped."
    assert Child("PostgreSQL", process, log, len("earlier\n")).ending() == (
        f"{sentence} The end of {log}:\n  mine\n{sentence} Log: {log}"
    )


def test_child_that_logged_nothing_is_told_in_one_line(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    process.wait()
    log = tmp_path / "worker.log"
    assert Child("worker", process, log, 0).ending() == (
        f"The worker ended with exit code 3, so everything is stopped. Log: {log}"
    )
