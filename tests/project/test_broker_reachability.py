"""What is said about a broker that is away."""

import socket

from memoryproject.broker_reachability import broker_problem
from memoryproject.celery import app


def test_broker_that_is_away_is_named_without_its_password(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setattr(
            app.conf, "broker_write_url", f"redis://:secret@{address}/0"
        )
        said = broker_problem()
    assert said.startswith(f"redis://:**@{address}/0 cannot be reached (")
    assert "secret" not in said
