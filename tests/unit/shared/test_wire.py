"""What the releases write: this one writes as its golden files say, and reads what the others wrote."""

import json
from typing import Any

import pytest

from querymill_shared.board import Step
from querymill_shared.contracts.events import decode_event
from querymill_shared.contracts.jobs import decode_request, decode_result
from querymill_workers.jobs.bell_codec import Rung, heard
from tests.fixtures import wire
from tests.fixtures.wire_board import JOB_ID


@pytest.mark.parametrize("name", wire.FILES)
def test_this_release_writes_as_its_golden_files_say(name: str) -> None:
    # Changed on purpose? Then `python -m tests.fixtures.wire` writes them anew, and the diff shows what has changed.
    assert json.loads(wire.lines(wire.FILES[name]())) == wire.read(wire.NOW, name)


def read_of(release: str, name: str) -> list[tuple[str, Any]]:
    return list(wire.read(release, name).items())


def is_within(written: Any, read: Any) -> bool:
    """Return whether all that was written is read, at every depth. What is newer may stand beside it."""
    if isinstance(written, dict):
        return isinstance(read, dict) and all(
            name in read and is_within(part, read[name]) for name, part in written.items()
        )
    if isinstance(written, list):
        return len(written) == len(read) and all(is_within(*pair) for pair in zip(written, read, strict=True))
    return bool(written == read)


@pytest.mark.parametrize("release", wire.RELEASES)
def test_requests_of_other_releases_are_read(release: str) -> None:
    for kind, written in read_of(release, "requests"):
        read = json.loads(decode_request(json.dumps(written)).model_dump_json())
        assert written.items() <= read.items(), kind


@pytest.mark.parametrize("release", wire.RELEASES)
def test_results_of_other_releases_are_read(release: str) -> None:
    for kind, written in read_of(release, "results"):
        read = json.loads(decode_result(json.dumps(written)).model_dump_json())
        assert is_within(written, read), kind


@pytest.mark.parametrize("release", wire.RELEASES)
def test_events_of_other_releases_are_read(release: str) -> None:
    for type_, written in read_of(release, "events"):
        read = decode_event(json.dumps(written))
        assert read is not None, type_
        assert written.items() <= json.loads(read.model_dump_json()).items(), type_


@pytest.mark.parametrize("release", wire.RELEASES)
def test_notes_of_other_releases_are_read(release: str) -> None:
    types = wire.kinds_of_notes()
    for place, written in read_of(release, "notes"):
        read = types[wire.MOVED_NOTES.get(place, place)].of(Step("step", "done", 1, notes=written))
        assert is_within(written, read.for_board()), place


@pytest.mark.parametrize("release", wire.RELEASES)
def test_bells_of_other_releases_are_heard(release: str) -> None:
    for name, written in read_of(release, "bells"):
        _, queue, _ = name.split(" ")
        rung = heard(json.dumps(written).encode(), f"querymill.{queue}.v1")
        assert isinstance(rung, Rung)
        assert rung.job_id == JOB_ID


def test_results_events_and_notes_with_more_fields_are_read_as_without() -> None:
    for kind, written in read_of(wire.NOW, "results"):
        parts = {name: written[name] for name in ("results", "stages", "degraded") if name in written}
        more = {name: [part | {"a_newer_field": 1} for part in listed] for name, listed in parts.items()}
        more = written | more | {"a_newer_field": [1]}
        assert decode_result(json.dumps(more)).kind == kind
    for type_, written in read_of(wire.NOW, "events"):
        assert decode_event(json.dumps(written | {"a_newer_field": {"deep": 1}})) is not None, type_
    types = wire.kinds_of_notes()
    for place, written in read_of(wire.NOW, "notes"):
        assert types[place].of(Step("step", "done", 1, notes=written | {"a_newer_field": 1})), place


def test_requests_with_more_fields_are_read_as_without() -> None:
    for kind, written in read_of(wire.NOW, "requests"):
        more = decode_request(json.dumps(written | {"a_newer_field": {"deep": 1}}))
        assert json.loads(more.model_dump_json()) == json.loads(
            decode_request(json.dumps(written)).model_dump_json()
        ), kind
