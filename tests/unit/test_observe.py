"""What a worker writes of an exception: where it was and what it was, but nothing that people wrote."""

import json
import logging
from typing import Any

import psycopg
import pytest

from querymill_workers.observe import common_processors


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
    assert "test_observe.py:" in line


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
