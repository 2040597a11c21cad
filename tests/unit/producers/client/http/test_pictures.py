"""A snapshot of a job is the same over HTTP: what the gateway shows of it is read back."""

import json
from dataclasses import replace
from typing import Final, get_args

import pytest

from querymill.client.http.pictures import picture_of
from querymill.gateway.http.job_shapes import detail_of
from querymill_shared.board.attempts import Attempt, AttemptPart, encode_facts, encode_past, read_past
from querymill_shared.board.picture import JobState, Picture, Record, SetbackCounts, Step
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit

COST: Final = ModelCost(model="e5", calls=1, input_tokens=7, output_tokens=0, cost_nanos=12, currency="EUR")
PARTS: Final = (AttemptPart("embed", 12.5, 3.0, calls=1, costs=(COST,)), AttemptPart("search", 4.25))
PAST: Final = (
    Attempt(1, 1.0, 1.5, 2.25, "w1", "lost", "lost"),
    Attempt(2, None, 2.5, 3.0, "w1", "outage", "store_down", "PostgreSQL: PoolTimeout", PARTS),
    Attempt(3, 3.0, 3.5, 4.0, "w2", "withdrawn"),
)
RECORD: Final = Record(
    job_id="0" * 32, kind="reports", collection="filings", lane="normal", state="running", created=1.0, deadline=31.5,
    ended=None, reason="", open_steps=1, callers=2, labels={"session": "42"},
)  # fmt: skip
DONE: Final = Step(
    "original", "done", 1, started=1.25, ended=2.0, queued=1.0, life="w1", facts=encode_facts(None, PARTS)
)
FAILED: Final = Step(
    "hyde", "failed", 4, "chat model: no response", 4.25, 5.0, counts=SetbackCounts(deaths=1, outages=1, pauses=1),
    queued=4.0, life="w2", facts=encode_facts("provider_down", ()), past=encode_past(PAST),
)  # fmt: skip
WAITING: Final = Step("fuse", "waiting", 3, counts=SetbackCounts(pauses=1), queued=5.0, past=encode_past(PAST))
ASKED: Final = ReportSearch(query="ships", collection="filings")


def shown(picture: Picture) -> Picture:
    return picture_of(json.loads(detail_of(picture, None, shows_request=True, shows_hits=True).model_dump_json()))


@pytest.mark.parametrize("state", get_args(JobState))
def test_a_picture_is_read_as_it_was_shown(state: JobState) -> None:
    picture = Picture(
        record=replace(RECORD, state=state, code="lost" if state == "dead" else ""),
        steps=(DONE, FAILED, WAITING),
        hits={"ships": (BoardHit("a1:2:0", 0.75, 7), BoardHit("b1:1:0", 0.5, 9))},
        queries={"ships": "original"},
        request=None if state == "done" else ASKED,
        asked=ASKED,
    )
    found = shown(picture)
    assert found == picture
    assert [step.attempts for step in found.steps] == [step.attempts for step in picture.steps]
    assert [step.code for step in found.steps] == [step.code for step in picture.steps]


def test_past_attempts_are_written_as_they_are_read() -> None:
    assert read_past(encode_past(PAST)) == PAST
