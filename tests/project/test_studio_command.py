"""The promises of ``manage.py studio``, kept by real processes."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.project.instances import ROOT, Instance, command, free_port, gone, manage


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """An instance that tests look at and leave as it is."""
    instance = Instance(tmp_path_factory.mktemp("running") / "var dir").start()
    yield instance
    instance.stop()


@pytest.fixture
def starting() -> Iterator:
    """Starts instances that are stopped after the test."""
    started: list[Instance] = []

    def start(var_dir: Path, port: int | None = None) -> Instance:
        instance = Instance(var_dir, port)
        started.append(instance)
        return instance.start()

    yield start
    for instance in started:
        instance.stop()


def shell(instance: Instance, code: str) -> str:
    """What a command beside the instance prints."""
    done = manage(instance.var_dir, "shell", "-v0", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shut_down_cleanly(instance: Instance) -> bool:
    log = (instance.var_dir / "log" / "postgres.log").read_text()
    return log.rstrip().endswith("database system is shut down")


def test_ready_instance_answers_and_names_chat_and_superuser_command(running):
    assert running.health() == {"status": "ok", "database": "ok"}
    assert f"Chat:   {running.address}/\n" in running.output
    assert f"make superuser VAR_DIR='{running.var_dir}'" in running.output


def test_services_listen_on_loopback_and_private_sockets_only(running):
    listening = {
        connection.laddr
        for process in [running.process, *running.descendants()]
        for connection in psutil.Process(process.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", running.port)}
    for service in ("db", "broker"):
        folder = Path((running.var_dir / "run" / f"{service}.socket").read_text()[:-1])
        assert folder.stat().st_mode & 0o777 == 0o700


def test_secrets_are_readable_by_their_owner_alone(running):
    for name in ("secret_key", "database_password"):
        assert (running.var_dir / name).stat().st_mode & 0o777 == 0o600


def test_every_process_logs_into_the_log_folder(running):
    assert sorted(path.name for path in (running.var_dir / "log").iterdir()) == [
        "broker.log",
        "postgres.log",
        "server.log",
        "worker.log",
    ]


def test_management_command_works_beside_the_running_instance(running):
    said = shell(running, "from threads.models import *; print(Thread.objects.count())")
    assert said == "0\n"


def test_same_var_dir_twice_is_refused_naming_the_holder(running):
    done = manage(running.var_dir, "studio", PORT=str(free_port()))
    assert done.returncode == 1
    assert (
        f"{running.var_dir} is in use by process {running.process.pid} "
        f"at {running.address}." in done.stderr
    )
    assert running.health()["status"] == "ok"


def test_taken_port_is_named_and_nothing_is_started(running, tmp_path):
    done = manage(tmp_path / "var", "studio", PORT=str(running.port))
    assert done.returncode == 1
    assert f"Port {running.port} is taken" in done.stderr
    assert not (tmp_path / "var" / "postgres").exists()


def test_second_instance_runs_beside_the_first_and_ctrl_c_stops_it_cleanly(
    running, starting, tmp_path
):
    other = starting(tmp_path / "var")
    assert other.health()["status"] == "ok"
    assert running.health()["status"] == "ok"

    folders = [
        Path((other.var_dir / "run" / f"{service}.socket").read_text()[:-1])
        for service in ("db", "broker")
    ]
    assert all(folder.is_dir() for folder in folders)
    started = other.descendants()
    assert other.signal(signal.SIGINT) == 0
    assert not any(folder.exists() for folder in folders)
    assert other.output.endswith("Stopping …\n")
    assert gone(started)
    assert shut_down_cleanly(other)
    assert running.health()["status"] == "ok"


@pytest.mark.parametrize(
    ("part", "name"), [("postgres", "PostgreSQL"), ("celery", "The worker")]
)
def test_death_of_a_child_is_told_and_stops_the_rest(starting, tmp_path, part, name):
    instance = starting(tmp_path / "var")
    started = instance.descendants()
    instance.child(part).kill()
    assert instance.wait() == 1
    sentence = f"{name} was killed by SIGKILL, so everything is stopped."
    last = instance.output.rstrip().splitlines()[-1]
    assert f"{sentence} Log: {instance.var_dir / 'log'}/" in last
    assert gone(started)


def test_kills_leave_no_process_and_the_next_start_has_the_data(starting, tmp_path):
    first = starting(tmp_path / "var")
    started = first.descendants()
    shell(first, "from threads.models import *; Resource.objects.create(id='res-a')")
    first.signal(signal.SIGKILL)
    assert gone(started)

    # The port is free again as well.
    second = starting(first.var_dir, port=first.port)
    started = second.descendants()
    second.process.kill()
    for process in started:
        if process.is_running():
            process.kill()
    second.wait()
    assert gone(started)

    third = starting(first.var_dir, port=first.port)
    said = shell(third, "from threads.models import *; print(Resource.objects.get())")
    assert said == "res-a\n"
    assert third.signal(signal.SIGTERM) == 0
    assert shut_down_cleanly(third)


def test_stop_while_starting_leaves_nothing(tmp_path):
    line, variables = command(tmp_path / "var", "studio", PORT=str(free_port()))
    process = subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for said in process.stdout:
        if said.startswith("Bringing the database"):
            break
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0
    assert gone(started)


def test_unreachable_database_is_one_clear_line(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        done = manage(
            tmp_path / "var",
            "studio",
            PORT=str(free_port()),
            DATABASE_URL=f"postgresql://alice:secret@127.0.0.1:{port}/memory",
        )
    assert done.returncode == 1
    assert f"host=127.0.0.1 port={port}" in done.stderr
    assert "cannot be reached" in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_unknown_host_of_the_database_is_one_clear_line(tmp_path):
    done = manage(
        tmp_path / "var",
        "migrate",
        DATABASE_URL="postgresql://alice:secret@nohost.invalid/memory",
    )
    assert done.returncode == 1
    assert done.stderr.startswith(
        "Error: the database host=nohost.invalid dbname=memory user=alice "
        "cannot be reached ("
    )
    assert "Check DATABASE_URL" in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", '"PORT" invalid: Not a valid integer.'),
        ("DATABASE_URL", "garbage", "DATABASE_URL must be postgresql://user:"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL must be one of DEBUG, INFO, WARNING"),
        ("MEMORY_CONCURRENT_RUNS", "foo", "must be one of queue, refuse, replace"),
        ("MEMORY_MODEL", "nonsense", 'MEMORY_MODEL names no model: "nonsense".'),
    ],
)
def test_wrong_setting_is_one_clear_line(tmp_path, name, value, said):
    given = {"PORT": str(free_port())} | {name: value}
    done = manage(tmp_path / "var", "studio", **given)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "var" / "run").exists()


def test_command_without_a_running_database_says_how_to_start_it(tmp_path):
    done = manage(tmp_path / "var", "migrate")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"Error: the embedded PostgreSQL of {tmp_path / 'var'} is not running. "
        "Start it with 'make run', and repeat this command beside it; "
        "or set DATABASE_URL to a PostgreSQL of yours.\n"
    )


def test_var_dir_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    done = manage(tmp_path / "file" / "var", "studio", PORT=str(free_port()))
    assert done.returncode == 1
    assert "Set VAR_DIR to a directory that can be written" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_checkout_is_not_written_to_when_var_dir_is_elsewhere(running):
    assert not (ROOT / "static" / "staticfiles.json").exists()
    assert (running.var_dir / "static" / "staticfiles.json").exists()
