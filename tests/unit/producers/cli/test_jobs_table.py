"""Jobs as a table on a terminal of 80 columns."""

import io

from querymill.cli.jobs import table_of
from querymill.cli.terminal import Console

ROW = {
    "job_id": "b9a7df779de547ef9f5d9ed7bebb99dd",
    "kind": "reembed",
    "collection": "filings",
    "state": "done",
    "submitted": "2026-11-23T22:00:00+00:00",
    "reason": "",
}


def test_a_job_that_went_well_takes_one_line() -> None:
    printed = io.StringIO()
    Console(file=printed, width=80).print(table_of([ROW]))
    assert len(printed.getvalue().splitlines()) == 2
    assert all(value in printed.getvalue() for value in (ROW["job_id"], "reembed", "11-23 22:00", "filings"))


def test_a_reason_is_shown_where_there_is_one() -> None:
    printed = io.StringIO()
    Console(file=printed, width=160).print(table_of([ROW, ROW | {"reason": "no vectors"}]))
    assert "no vectors" in printed.getvalue()
