"""Writes and drops leave what they give in the order of their acceptance, in whichever order they are carried out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, get_args

import pytest

from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import JobRequest
from tests.fixtures.people import Person, document, document_id, dropping, ingestion
from tests.fixtures.short_forms import all_at_night, crossed
from tests.fixtures.world import World

KINDS: tuple[Retriever, ...] = get_args(Retriever)
ADA = Person(name="Ada", text="anchor", note="red", place="ada", question="")
#: Something that is accepted: "red" and "blue" put the document with this note, the others are drops.
Accepted = Sequence[str]


def written(kind: Retriever, note: str) -> JobRequest:
    line: dict[str, Any] = document(kind, replace(ADA, note=note))
    request: JobRequest = ingestion(kind, "c", line)
    return request


def asked(kind: Retriever, what: str) -> JobRequest:
    """Return the request of a word."""
    id_ = document_id(kind, ADA)
    scopes: Mapping[str, Mapping[str, Any]] = {
        "drop": {"ids": [id_]},
        "drop blue": {"filter": {"note": "blue"}},
        "drop blue among": {"ids": [id_, "other"], "filter": {"note": "blue"}},
        "drop others": {"ids": ["other"], "filter": {"note": "blue"}},
        "drop all": {"everything": True},
    }
    return dropping(kind, "c", **scopes[what]) if what in scopes else written(kind, what)


def carry_out(world: World, requests: Sequence[JobRequest], order: Sequence[int]) -> None:
    """Have requests accepted one after the other, and carry them out in another order."""
    jobs = []
    for request in requests:
        jobs.append((world.submit(request), request))
        time.sleep(0.001)  # so that no two are accepted in the same microsecond
    for place in order:
        job_id, request = jobs[place]
        for step in request.steps:
            world.ring(job_id, request, step)
        assert world.board.picture(job_id).record.state == "done", world.board.picture(job_id).record


def stored_of(world: World, kind: Retriever) -> Mapping[str, Any] | None:
    id_ = document_id(kind, ADA)
    return world.ports.bodies[kind].whole("c", [id_]).get(id_)


#: What is accepted in which order, and the note of the document that is left of it.
ORDERS: Sequence[tuple[Accepted, str | None]] = (
    (["red", "blue", "drop blue"], None),
    (["blue", "red", "drop blue"], "red"),
    (["blue", "drop blue", "red"], "red"),
    (["red", "drop blue", "blue"], "blue"),
    (["blue", "drop", "red"], "red"),
    (["red", "blue", "drop all"], None),
    (["blue", "drop all", "red"], "red"),
    (["red", "blue", "drop blue among"], None),
    (["blue", "red", "drop blue among"], "red"),
    (["red", "blue", "drop others"], "blue"),
    (["blue", "drop blue", "red", "drop blue"], "red"),
)


@pytest.mark.parametrize(("accepted", "left", "kind"), crossed(ORDERS, KINDS))
def test_what_is_left_does_not_depend_on_which_runs_first(
    fresh: Callable[[], World], kind: Retriever, accepted: Accepted, left: str | None
) -> None:
    for order in permutations(range(len(accepted))):
        world = fresh()
        carry_out(world, [asked(kind, what) for what in accepted], order)
        found = stored_of(world, kind)
        assert (found and found["note"]) == left, (order, found)


def update(text: str, **fields: str) -> Extend:
    message = {"message_id": text, "text": text, "created_at": "2026-03-02T10:00:00Z"}
    given = {"session_id": document_id("conversations", ADA), "messages": [message], **fields}
    return Extend.model_validate({"collection": "c", "retriever": "conversations", "documents": [given]})


DROPS: Mapping[str, Mapping[str, Any]] = {
    "id": {"ids": [document_id("conversations", ADA)]},
    "filter": {"filter": {"user_name": "Ada"}},
    "both": {"ids": [document_id("conversations", ADA)], "filter": {"user_name": "Ada"}},
    "everything": {"everything": True},
}


def texts_of(world: World) -> list[str]:
    found = stored_of(world, "conversations")
    return [message["text"] for message in found["messages"]] if found else []


@pytest.mark.parametrize("scope", all_at_night(DROPS, short=["both"]))
def test_a_late_drop_leaves_the_live_messages_that_came_after_it(fresh: Callable[[], World], scope: str) -> None:
    drop = dropping("conversations", "c", **DROPS[scope])
    for order in permutations(range(4)):
        world = fresh()
        carry_out(world, [written("conversations", "red"), update("early"), drop, update("late")], order)
        assert texts_of(world) == ["late"], order
        words = world.ports.words
        assert [bool(words.search("c", "conversations", word, limit=9)) for word in ("early", "late")] == [False, True]


def test_updates_of_a_forgotten_session_do_not_come_back(fresh: Callable[[], World]) -> None:
    drop = dropping("conversations", "c", **DROPS["filter"])
    for order in permutations(range(3)):
        world = fresh()
        carry_out(world, [update("first", user_name="Ada"), update("second"), drop], order)
        if order != (2, 1, 0):  # the second alone does not say whose it is; it goes as soon as the first comes
            assert texts_of(world) == [], order
    carry_out(world := fresh(), [update("first", user_name="Ada"), update("second"), drop], (2, 1, 0))
    assert texts_of(world) == []


def test_a_filter_that_only_a_part_passes_leaves_the_session(fresh: Callable[[], World]) -> None:
    drop = dropping("conversations", "c", filter={"user_name": None})
    for order in permutations(range(3)):
        if order.index(0) < order.index(1):  # until the session comes, nobody knows that it has a user
            world = fresh()
            carry_out(world, [written("conversations", "red"), update("more"), drop], order)
            assert "more" in texts_of(world), order


def test_a_waiting_write_that_was_accepted_after_the_drop_keeps_all_its_documents(world: World) -> None:
    files = [document("files", replace(ADA, place=place, note="blue")) for place in ("ada", "eve")]
    drop = dropping("files", "c", ids=[files[0]["path"]])
    later = ingestion("files", "c", files[0]).model_copy(
        update={"documents": tuple(ingestion("files", "c", line).documents[0] for line in files)}
    )
    carry_out(world, [drop, later], [0, 1])
    assert set(world.ports.bodies["files"].whole("c", [line["path"] for line in files])) == {
        line["path"] for line in files
    }


def test_files_that_are_forgotten_by_their_language_stay_forgotten(world: World) -> None:
    drop = dropping("files", "c", filter={"language": "python"})
    carry_out(world, [written("files", "red"), drop], [1, 0])
    assert stored_of(world, "files") is None
