"""The embedded services by themselves: where they live, and what they survive."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from memoryproject.embedded.broker import EmbeddedBroker
from memoryproject.embedded.places import (
    EmbeddedServiceError,
    make_socket_folder,
    secret,
    socket_folder,
)
from memoryproject.embedded.postgres import EmbeddedPostgres
from memoryproject.embedded.processes import Account
from tests.project.instances import until

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="about what happens to the root user"
)


@pytest.fixture
def far_away(tmp_path: Path) -> Path:
    """A path with spaces, longer than the name of a socket may be."""
    return tmp_path / ("folder with spaces " * 6) / ("and 'quotes' " * 6) / "var"


@pytest.fixture
def server(far_away: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(far_away, throwaway=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def queue(far_away: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(far_away)
    broker.start()
    yield broker
    broker.stop()


def connect(server: EmbeddedPostgres) -> psycopg.Connection:
    given = server.connection()
    return psycopg.connect(
        dbname=given["NAME"],
        user=given["USER"],
        password=given["PASSWORD"],
        host=given["HOST"],
    )


def test_database_runs_in_a_long_path_and_its_role_is_no_superuser(server):
    assert len(str(server.data)) > 200
    with connect(server) as connection:
        found = connection.execute(
            "SELECT rolsuper, rolcreatedb, current_database(),"
            " current_setting('fsync'), current_setting('listen_addresses')"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert found == (False, True, "memory", "off", "")
        assert connection.execute(
            "SELECT '[1,2,3]'::vector <-> '[1,2,4]'"
        ).fetchone() == (1.0,)


def test_database_refuses_a_wrong_password_and_every_other_role(server):
    given = server.connection()
    for role, password in (("memory", "guess"), ("postgres", given["PASSWORD"])):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(
                dbname="memory", user=role, password=password, host=given["HOST"]
            )


def test_database_keeps_data_over_a_kill_and_a_start(tmp_path):
    server = EmbeddedPostgres(tmp_path / "var")
    server.start()
    try:
        with connect(server) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        server.process.kill()
        server.process.wait()
        server.start()
        with connect(server) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    finally:
        server.stop()


def test_database_left_over_by_a_dead_supervisor_is_replaced(server):
    left = server.process
    other = EmbeddedPostgres(server.var_dir, throwaway=True)
    assert other.leftover() == left.pid
    other.start()
    try:
        assert left.wait() == 0
        assert other.leftover() == other.process.pid
    finally:
        other.stop()


def test_preparation_that_was_interrupted_starts_over(far_away):
    server = EmbeddedPostgres(far_away, throwaway=True)
    half = server.home / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server.start()
    server.stop()
    assert not half.exists()


def test_queued_messages_survive_a_kill_of_the_broker(queue):
    redis.Redis(unix_socket_path=str(queue.socket)).rpush("default", "first", "second")
    queue.process.kill()
    queue.process.wait()
    queue.start()
    client = redis.Redis(unix_socket_path=str(queue.socket))
    assert client.lrange("default", 0, -1) == [b"first", b"second"]


def test_broker_refuses_new_messages_rather_than_forget_old_ones(queue):
    client = redis.Redis(unix_socket_path=str(queue.socket))
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.config_get("port") == {"port": "0"}


@needs_root
def test_root_runs_the_database_as_another_user_in_a_closed_folder(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedPostgres(closed / "var", throwaway=True)
    server.start()
    try:
        uid = Path(f"/proc/{server.process.pid}").stat().st_uid
        assert uid == server.data.stat().st_uid != 0
        assert not Account.of(uid).reaches(server.data)
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        server.stop()


@needs_root
def test_socket_folder_of_somebody_else_is_refused(tmp_path):
    folder = socket_folder(tmp_path, "db")
    folder.mkdir()
    try:
        os.chown(folder, 12345, 12345)
        with pytest.raises(EmbeddedServiceError, match="belongs to somebody else"):
            make_socket_folder(tmp_path, "db", os.geteuid(), os.getegid())
    finally:
        folder.rmdir()


def test_socket_folder_stays_with_its_var_dir_when_tmpdir_changes(
    tmp_path, monkeypatch
):
    made = make_socket_folder(tmp_path / "a", "db", os.geteuid(), os.getegid())
    try:
        monkeypatch.setattr("tempfile.tempdir", "/var/tmp")
        assert socket_folder(tmp_path / "a", "db") == made
        # A copy of the folder is another installation.
        (tmp_path / "b" / "run").mkdir(parents=True)
        (tmp_path / "b" / "run" / "db.socket").write_text(f"{made}\n")
        assert socket_folder(tmp_path / "b", "db") != made
    finally:
        made.rmdir()


def test_temporary_directory_with_a_long_name_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/" + "x" * 60)
    assert socket_folder(tmp_path, "db").parent == Path("/tmp")


def test_secret_is_made_once(tmp_path):
    made = secret(tmp_path / "var", "name")
    assert len(made) == 64
    assert secret(tmp_path / "var", "name") == made
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["name"]


def test_stop_of_a_database_that_clients_use_does_not_wait_for_them(server):
    connection = connect(server)
    process = server.process
    server.stop()
    assert process.returncode == 0
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")


def test_child_dies_with_its_parent(far_away):
    """The kernel tells the server of its parent's death, however that came."""
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        broker = EmbeddedBroker(far_away)
        broker.start()
        os.write(writing, str(broker.process.pid).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(parent, 0)
    child = int(os.read(reading, 20))
    until(lambda: not Path(f"/proc/{child}/cmdline").exists() or is_dead(child))


def is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
