"""What a worker logs at its start of clocks that differ."""

import pytest
from structlog.testing import capture_logs

from querymill_workers.preflight import warn_of_clocks


@pytest.mark.parametrize(
    ("board_s", "database_s", "named"),
    [
        (0.1, -0.2, []),
        (3_600.0, 3_600.2, [("worker", -3_600.0)]),
        (0.0, -60.0, [("PostgreSQL", -60.0)]),
        (-5.0, 0.0, [("worker", 5.0), ("PostgreSQL", 5.0)]),
    ],
)
def test_each_clock_that_differs_from_the_boards_is_named_once(
    board_s: float, database_s: float, named: list[tuple[str, float]]
) -> None:  # fmt: skip
    with capture_logs() as logs:
        warn_of_clocks(board_s, database_s)
    assert [(line["clock"], line["ahead_s"]) for line in logs] == named
