"""The end of a log, as it is shown to a person."""

import json

from memoryproject.last_lines import END, last_lines, log_size


def test_only_lines_after_the_beginning_are_shown(tmp_path):
    log = tmp_path / "worker.log"
    assert log_size(log) == 0
    log.write_text("earlier\n")
    begin = log_size(log)
    assert last_lines(log, begin, 80) == []
    with log.open("a") as file:
        file.write("mine\n\nalso mine\n")
    assert last_lines(log, begin, 80) == ["mine", "also mine"]


def test_log_that_was_put_aside_since_is_shown_from_its_start(tmp_path):
    log = tmp_path / "worker.log"
    log.write_text("new\n")
    assert last_lines(log, 1000, 80) == ["new"]


def test_json_becomes_time_level_and_event(tmp_path):
    log = tmp_path / "server.log"
    record = {
        "event": "It failed",
        "level": "error",
        "logger": "recall",
        "timestamp": "2026-01-31T12:34:56.789Z",
        "exception": "Traceback:\n  File\nValueError: no",
    }
    log.write_text(json.dumps(record) + "\n[1, 2]\n{\n")
    assert last_lines(log, 0, 80) == [
        "12:34:56 error It failed: ValueError: no",
        "[1, 2]",
        "{",
    ]


def test_lines_are_one_row_of_the_terminal_without_colours(tmp_path):
    log = tmp_path / "server.log"
    record = {"event": "first\nsecond \x1b[31mred\x1b[0m", "level": "info"}
    log.write_text(f"\x1b[1;31m{'x' * 30}\x1b[0m\n{json.dumps(record)}\n")
    assert last_lines(log, 0, 20) == ["x" * 19 + "…", "info first second r…"]


def test_no_more_than_fifteen_lines_of_the_end_are_shown(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("x" * END + "".join(f"\n{number}" for number in range(20)))
    assert last_lines(log, 0, 80) == [str(number) for number in range(5, 20)]


def test_missing_log_has_no_lines(tmp_path):
    assert last_lines(tmp_path / "none.log", 0, 80) == []
