"""What another release wrote onto the board is read as far as this one knows it. A caller's input is not."""

import json
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from querymill_shared.board import Step
from querymill_shared.contracts.events import Done, Queued, StageFinished, decode_event
from querymill_shared.contracts.jobs import AnyResult, JobRequest, decode_request, decode_result, validate_request
from querymill_shared.contracts.messages.search import MessageHit
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.jobs.notes import Notes, StepNotes

SEARCH = {"kind": "reports", "collection": "c", "query": "q"}
INGESTED: dict[str, Any] = {
    "kind": "ingest_reports", "job_id": "j", "total": 1, "complete": True, "collection": "c", "documents": [],
}  # fmt: skip
HIT: dict[str, Any] = {
    "vector_id": "v", "message_id": None, "session_id": "s", "content": "c", "vector_type": "message",
    "similarity": 0.5, "created_at": "2026-01-01T00:00:00Z", "session_name": None, "user_name": None,
    "message_role": None, "raw_similarity": None, "band": "high", "score": 1.0, "found_by": ["words"],
    "explanation": {},
}  # fmt: skip


def written(fields: dict[str, Any], **more: Any) -> str:
    return json.dumps(fields | more)


def test_an_unknown_field_of_a_request_is_ignored_on_the_board_and_refused_of_a_caller() -> None:
    newer = written(SEARCH, boost=2)
    read = decode_request(newer)
    assert read.model_dump_json() == decode_request(written(SEARCH)).model_dump_json()
    for strict in (validate_request, TypeAdapter(ReportSearch).validate_json):
        with pytest.raises(ValidationError, match="boost"):
            strict(newer)


def test_what_this_release_wrote_is_read_as_it_was() -> None:
    request = ReportSearch(collection="c", query="q")
    assert decode_request(request.model_dump_json()) == request


def test_the_metadata_of_a_document_beside_an_unknown_field_is_kept() -> None:
    report = {"sha1": "a", "title": "t", "company": "c", "sector": "ships", "pages": [{"page": 1, "text": "x", "n": 1}]}
    read = decode_request(json.dumps({"kind": "ingest_reports", "collection": "c", "documents": [report], "boost": 2}))
    assert isinstance(read, IngestReports)
    assert read.documents[0].model_extra == {"sector": "ships"}
    assert "boost" not in read.model_dump_json()


@pytest.mark.parametrize("broken", [{"version": 99}, {"kind": "songs"}, {"lane": "express"}, {"boost": 2, "query": ""}])
def test_a_request_that_breaks_a_rule_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        decode_request(written(SEARCH, **broken))


def test_unknown_fields_and_named_values_of_a_result_do_not_keep_it_from_being_read() -> None:
    merged = [{"document": "d", "outcome": "merged"}]
    read = decode_result(written(INGESTED, documents=merged, pages=7, stages=[
        {"name": "ingest", "state": "skipped", "attempt": 1, "deaths": 0},
    ]))  # fmt: skip
    shown = json.loads(read.model_dump_json())
    assert (shown["documents"][0]["outcome"], shown["stages"][0]["state"]) == ("merged", "skipped")
    assert "pages" not in shown
    with pytest.raises(ValidationError, match="outcome"):
        type(read).model_validate(INGESTED | {"documents": merged})


@pytest.mark.parametrize("outcome", [7, None, ["merged"]])
def test_a_named_value_is_still_a_name(outcome: object) -> None:
    with pytest.raises(ValidationError, match="outcome"):
        decode_result(written(INGESTED, documents=[{"document": "d", "outcome": outcome}]))


def test_an_event_is_read_without_its_unknown_fields_and_an_unknown_one_is_none() -> None:
    assert decode_event('{"type": "done", "complete": true}') == Done(complete=True)
    newer = decode_event({"type": "stage_finished", "stage": "s", "state": "paused", "at": 1})
    assert isinstance(newer, StageFinished)
    assert str(newer.state) == "paused"
    assert decode_event({"type": "queued", "stages": []}) == Queued(stages=())
    for unknown in ('{"type": "warmed"}', "null", "7", "", '{"stages": []}'):
        assert decode_event(unknown) is None


class Found(StepNotes):
    hits: tuple[MessageHit, ...]


def test_unknown_fields_in_the_parts_of_notes_are_ignored_too() -> None:
    step = Step("search", "done", 1, notes={"hits": [HIT | {"colour": "red", "band": "superb"}], "since": 3})
    found = Found.of(step)
    assert str(found.hits[0].band) == "superb"
    assert "colour" not in found.model_dump_json()
    assert "since" not in found.model_dump_json()
    assert Notes.of(step) == Notes()


def test_every_request_and_result_is_read_the_same_way() -> None:
    for contract in (*get_args(JobRequest), *get_args(AnyResult)):
        with pytest.raises(ValidationError) as caught:
            contract.model_validate({"a field of nobody": 1})
        assert "extra_forbidden" in {broken["type"] for broken in caught.value.errors()}
