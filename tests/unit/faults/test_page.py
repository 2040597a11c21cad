"""The page of the fault table is made of the registry of lines and of what runs found, and of nothing else."""

from dataclasses import replace

import pytest

from tests.faults.histories.counting import Counts
from tests.faults.table import command
from tests.faults.table.lines import LINES
from tests.faults.table.page import PAGE, render
from tests.faults.table.results import RESULTS, Result
from tests.fixtures.ledgers import read_ledger


def run(**counts: object) -> Result:
    counted = Counts(submitted=300, faults=2, recovery_s=[1.0, 9.0])
    return Result(
        "workers killed", "valkey", 7, 300, "2026-11-28", "abc", "2 cores", "Valkey 9", 60,
        replace(counted, **counts),  # type: ignore[arg-type]  # counts by name
    )  # fmt: skip


def row(page: str, name: str) -> list[str]:
    (found,) = [line for line in page.splitlines() if line.startswith(f"| {name} | Valkey |") and "`" not in line]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_the_page_is_what_the_results_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_ledger(RESULTS, Result))


def test_every_result_is_of_a_line_of_the_registry() -> None:
    assert {result.line for result in read_ledger(RESULTS, Result)} <= LINES.keys()
    assert all(result.servers in LINES[result.line].on for result in read_ledger(RESULTS, Result))


def test_runs_of_a_line_add_up() -> None:
    page = render([run(lost=1), run(degraded=3, recovery_s=[4.0])])
    assert row(page, "workers killed") == [
        "workers killed", "Valkey", "600", "1", "0", "0", "3", "0", "0", "0", "0", "0", "4", "4.0", "9.0",
    ]  # fmt: skip
    assert "not run yet" in row(page, "calm")


def test_what_broke_a_promise_is_told_but_not_of_a_control() -> None:
    control = next(line for line in LINES.values() if line.is_control)
    losing = next(line for line in LINES.values() if line.loses_board)
    page = render([
        run(lost=1, breaches=["it is gone"]), replace(run(wrong=1, breaches=["as it should"]), line=control.name),
        replace(run(gone=1, breaches=["with its board"]), line=losing.name),
    ])  # fmt: skip
    assert "- workers killed on Valkey, seed 7: it is gone" in page
    assert "as it should" not in page
    assert "with its board" not in page
    assert "seed 7: and 22 more" in render([run(lost=1, stuck=22, breaches=["it is gone"])])
    assert render([run()]).endswith("Nothing.\n")


def test_each_run_of_a_control_has_a_row() -> None:
    control = next(line for line in LINES.values() if line.is_control)
    page = render([replace(run(wrong=wrong), line=control.name, seed=wrong) for wrong in (0, 5)])
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith(f"| {control.name} | Valkey | ")]
    assert [(cells[2], cells[6]) for cells in rows[:2]] == [("0", "0"), ("5", "5")]


def test_a_run_that_is_left_out_is_shown_with_its_reason_and_not_added_up() -> None:
    page = render([run(), replace(run(wrong=1, breaches=["cut"]), left_out="the checker was wrong")])
    assert row(page, "workers killed")[2:6] == ["300", "0", "0", "0"]
    assert "- workers killed on Valkey, seed 7: the checker was wrong. It had counted: cut" in page


def test_what_a_line_does_not_check_is_said() -> None:
    (said,) = [line for line in render([]).splitlines() if line.startswith("- **two releases**")]
    assert said.endswith("Not checked, because the fault itself breaks it: a complete result is right")


def test_a_line_that_no_server_can_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--lines", "broker killed", "--servers", "valkey"])
    assert "'broker killed' is run with --servers rabbitmq cluster" in capsys.readouterr().err


def test_a_control_that_shows_nothing_fails_and_so_does_a_line_that_shows_something() -> None:
    line, control = LINES["workers killed"], next(line for line in LINES.values() if line.is_control)
    assert command.is_as_it_should_be(line, run())
    assert not command.is_as_it_should_be(line, run(stuck=1))
    assert not command.is_as_it_should_be(line, run(gone=1))
    assert command.is_as_it_should_be(replace(line, loses_board=True), run(gone=1))
    assert command.is_as_it_should_be(control, run(wrong=1))
    assert not command.is_as_it_should_be(control, run())
