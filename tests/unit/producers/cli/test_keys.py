"""The end of a key as it is written on the command line."""

import time

import pytest
import typer

from querymill.cli.keys import read_end


def test_an_end_is_a_length_of_time_or_the_last_day() -> None:
    assert read_end(None) is None
    assert read_end("90d") == pytest.approx(time.time() + 90 * 86_400, abs=5)
    assert read_end("12h") == pytest.approx(time.time() + 12 * 3_600, abs=5)
    assert read_end("2099-01-31") == 4_073_587_200.0  # the day is over at 2099-02-01 00:00 UTC


@pytest.mark.parametrize("written", ["", "soon", "0d", "90", "2026-02-30", "2020-01-31"])
def test_what_is_no_end_is_refused(written: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"must be a day such as|has passed"):
        read_end(written)
