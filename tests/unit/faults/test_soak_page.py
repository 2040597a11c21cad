"""The page of soaks is made of what runs found, and of nothing else: a run is never taken out."""

from dataclasses import replace

from tests.faults.histories.counting import Counts
from tests.faults.soak.figures import TOMBSTONES
from tests.faults.soak.page import PAGE, render
from tests.faults.soak.results import SOAKS, Soaked
from tests.faults.soak.slopes import Slope
from tests.fixtures.ledgers import read_ledger

SOAKED = Soaked(
    3600, 7, {"keys of the board": Slope(100.0, 2.0, -1.0, 3.0)}, 690, 20, Counts(submitted=90_885), {"calm": 3}, (),
    "Valkey 9", "abc", "2026-11-28", "2 cores", {"QUERYMILL_TRAILS": "5000"},
)  # fmt: skip
GROWN = replace(SOAKED, seed=8, slopes={"keys of the board": Slope(100.0, 9.0, 1.0, 12.0)}, remark="Found out why.")


def test_the_page_is_what_the_runs_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_ledger(SOAKS, Soaked))


def test_tombstones_are_judged_as_a_part_of_the_disk() -> None:
    kept = replace(GROWN, slopes={TOMBSTONES: Slope(1.0, 0.5, 0.4, 0.6)})
    assert (GROWN.growing, kept.growing) == (("keys of the board",), ())
    assert f"| {TOMBSTONES} | 1.0 | +0.50 | +0.40 to +0.60 | after eight days |" in render([kept])


def test_the_last_run_is_shown_whole_and_those_before_in_a_line_each() -> None:
    page = render([GROWN, SOAKED])
    assert "--minutes 60 --seed 7" in page
    assert "| keys of the board | 100.0 | +2.00 | -1.00 to +3.00 | yes |" in page
    before = "| 90,885 | 0 | 0 | 0 | 0 | 0 | keys of the board (+9.00 an hour) | Found out why. |"
    assert f"| 2026-11-28 | `abc` | 8 | 60 {before}" in page
    assert "(`QUERYMILL_TRAILS=5000`)" in page
    assert "Runs before" not in render([SOAKED])
