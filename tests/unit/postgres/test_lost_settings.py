"""Settings that do not hold in a transaction are named, with the value found and the value that workers set."""

import pytest

from querymill_workers.postgres.migrate import lost_settings

WANTED = {"statement_timeout": "15000", "querymill.walled": "on"}


def test_what_holds_is_not_named() -> None:
    assert lost_settings(WANTED, {**WANTED, "work_mem": "4MB"}) is None


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ({"statement_timeout": "0", "querymill.walled": "on"}, "statement_timeout is 0 instead of 15000"),
        ({"statement_timeout": "15000", "querymill.walled": None}, "querymill.walled is not set instead of on"),
        ({"statement_timeout": "15000", "querymill.walled": ""}, "querymill.walled is not set instead of on"),
        ({}, "statement_timeout is not set instead of 15000; querymill.walled is not set instead of on"),
    ],
)
def test_what_does_not_hold_is_named_with_what_to_do(found: dict[str, str | None], named: str) -> None:
    said = lost_settings(WANTED, found)
    assert said is not None
    assert said.startswith(f"{named}: ")
    assert "connect to the server directly" in said
