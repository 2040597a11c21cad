"""What a worker writes of an exception: where it was and what it was, but nothing that people wrote."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from querymill_workers.logs import Repeats, common_processors


def written(error: BaseException, level: int) -> str:
    event: Any = {"event": "step broke", "exc_info": error}
    for processor in common_processors(level):
        event = processor(None, "error", event)
    return json.dumps(event)


@pytest.fixture
def error() -> BaseException:
    try:
        try:
            raise psycopg.errors.UniqueViolation("DETAIL: Key (text)=(zanzibar) already exists")
        except psycopg.Error as cause:
            raise ValueError("zanzibar cannot be stored") from cause
    except ValueError as caught:
        return caught


def test_above_debug_an_exception_is_logged_by_type_and_place_without_its_message(error: BaseException) -> None:
    line = written(error, logging.INFO)
    assert "zanzibar" not in line
    assert "UniqueViolation (SQLSTATE 23505)" in line
    assert "ValueError" in line
    assert "test_logs.py:" in line


def test_at_debug_an_exception_is_logged_whole(error: BaseException) -> None:
    assert "Key (text)=(zanzibar)" in written(error, logging.DEBUG)


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_the_secret_of_an_address_that_a_driver_quotes_is_not_logged(level: int) -> None:
    error = psycopg.ProgrammingError('missing "=" after "postgresql+psycopg://u:HUNTER@h/db" in connection info string')
    line: Any = {"event": f"error connecting: {error}", "detail": "host=h password=HUNTER", "exc_info": error}
    for processor in common_processors(level):
        line = processor(None, "error", line)
    assert "HUNTER" not in json.dumps(line)
    assert "postgresql+psycopg://u:***@h/db" in line["event"]


def here(text: str) -> None:
    raise ValueError(text)


def elsewhere(text: str) -> None:
    raise ValueError(text)


def raised(text: str = "zanzibar", *, by: Callable[[str], None] = here) -> BaseException:
    try:
        by(text)
    except ValueError as error:
        return error
    raise AssertionError


def test_the_same_exception_from_the_same_place_is_admitted_seldom_and_the_others_are_counted() -> None:
    now = [0.0]
    repeats = Repeats(clock=lambda: now[0])
    assert [repeats.left_out(raised(f"text {number}")) for number in range(4)] == [0, None, None, None]
    assert repeats.left_out(raised(by=elsewhere)) == 0
    assert repeats.left_out(KeyError()) == 0
    now[0] = 10.0
    assert [repeats.left_out(raised()) for _ in range(2)] == [3, None]


def test_many_kinds_of_exceptions_do_not_fill_the_memory() -> None:
    repeats = Repeats(clock=lambda: 0.0)
    for number in range(2_500):
        assert repeats.left_out(type(f"Error{number}", (Exception,), {})()) == 0
    assert len(repeats._seen) <= 1_000


#: Breaks in each of the ways in which a worker can, a hundred times.
BREAKING = """
import logging, threading
from querymill_workers import logs
logs.configure("INFO")
import structlog

def broken(secret="zanzibar"):
    raise ValueError(f"{secret} broke")

def caught(log):
    try:
        broken()
    except ValueError:
        log()

for _ in range(100):
    caught(lambda: structlog.get_logger("ours").exception("a step broke"))
class Lost(Exception):
    pass
def lost():
    secret = "zanzibar"
    raise Lost(secret)
for _ in range(100):
    try:
        lost()
    except Lost as error:
        logging.getLogger("celery.app.trace").error("Task %s raised: %s\\n", "t", error, exc_info=True)
def dying():
    secret = "zanzibar"
    raise KeyError(secret)
threads = [threading.Thread(target=dying, name=f"thread {n}") for n in range(100)]
for thread in threads: thread.start()
for thread in threads: thread.join()
secret = "zanzibar"
raise RuntimeError(secret)
"""


def test_whatever_breaks_a_worker_logs_one_line_of_each_and_no_value() -> None:
    run = subprocess.run([sys.executable, "-c", BREAKING], capture_output=True, text=True, timeout=60, check=False)
    lines = [json.loads(line) for line in run.stderr.splitlines()]
    assert [line["event"] for line in lines] == [
        "a step broke",
        "Task %s raised: %s",
        "a thread broke",
        "the process broke",
    ]
    assert "zanzibar" not in run.stderr
    assert [line["exception"][-1] for line in lines] == ["ValueError", "Lost", "KeyError", "RuntimeError"]
    assert run.returncode == 1


#: Logs a line, and shows each write of it on a line of its own.
LINES = """
import os, sys
from querymill_workers import logs
class Counted:
    def write(self, text): os.write(1, repr(text).encode() + b"\\n")
    def flush(self): pass
sys.stderr = Counted()
logs.configure("INFO")
import structlog
structlog.get_logger("x").info("job ended", steps=1)
"""


def test_a_line_is_written_at_once_with_its_end() -> None:
    """Several processes write to one file: what one of them writes in two parts, another may write into."""
    ran = subprocess.run([sys.executable, "-c", LINES], capture_output=True, text=True, check=True, timeout=60)
    (written_once,) = ran.stdout.splitlines()
    assert written_once.endswith("}\\n'")
