"""Why a file is not in the result: the gate, its numbers, and a lever that holds when it is pulled."""

from typing import Any

import pytest

from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.why_not import Absence
from querymill_workers.dispatch.run_step import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.files.rules.absence import GATES, say_band, say_behind, say_unfound
from querymill_workers.retrievers.files.search import settle_late
from tests.fixtures.absences import failed
from tests.fixtures.code_base import BASE, PROFILES, put
from tests.fixtures.world import World

MANY = {
    f"many/part_{number:02}.py": f"def part_{number}():\n    restore()\n" + "x = 1\n" * number for number in range(45)
}


@pytest.fixture
def code(world: World) -> World:
    put(world, BASE | MANY)
    world.with_ports(file_profiles=PROFILES)
    return world


def ask(world: World, **fields: Any) -> FileResult:
    asked = FileSearch.model_validate({"query": "restore", "collection": "code"} | fields)
    job_id = world.run(asked)
    while (picture := world.board.picture(job_id)).record.state == "running":
        for step in picture.steps:  # a bell stands for all steps of its queue
            if not step.is_closed:
                world.ring(job_id, asked, step.name)
    result = world.result(job_id)
    assert isinstance(result, FileResult)
    return result


def explain(world: World, wanted: str, **fields: Any) -> Absence:
    """Ask, and see that the lever does what it says."""
    absence = ask(world, why_not=wanted, **fields).why_not
    assert absence is not None
    assert [gate.name for gate in absence.gates] == list(GATES)
    assert (absence.failed is None) == (absence.place is not None)
    if absence.lever is not None:
        pulled = ask(world, why_not=wanted, **fields | absence.lever.fields)
        places = {hit.path: place for hits in (pulled.low, pulled.results) for place, hit in enumerate(hits, start=1)}
        after = pulled.why_not
        assert after is not None
        if absence.lever.place is None:
            assert after.failed is None or GATES.index(after.failed.name) > GATES.index("candidates")
        else:
            assert places[wanted] == absence.lever.place
    return absence


def test_a_file_that_is_returned_has_passed_every_gate(code: World) -> None:
    first = ask(code).results[0].path
    absence = explain(code, first)
    assert (absence.place, {gate.outcome for gate in absence.gates}) == (1, {"passed"})


@pytest.mark.parametrize(
    ("wanted", "fields", "gate"),
    [
        ("nowhere.py", {}, "indexed"),
        ("many/part_00.py", {"under": ["transport"]}, "filter"),
        ("many/part_00.py", {"filter": {"language": "lua"}}, "filter"),
        ("utils/colours.py", {}, "candidates"),
        ("docs/readme.py", {"query": "restore unacked channel client"}, "band"),
    ],
)
def test_the_first_gate_that_a_file_did_not_pass_is_named(
    code: World, wanted: str, fields: dict[str, Any], gate: str
) -> None:
    assert failed(explain(code, wanted, **fields)) == gate


@pytest.mark.parametrize("mode", ["iterative", "oneshot"])
def test_behind_the_list_its_place_is_said(code: World, mode: str) -> None:
    last = ask(code, mode=mode).results[-1].path
    absence = explain(code, last, mode=mode, top_n=1)
    assert failed(absence) == "top_n"
    assert absence.lever is not None


def test_behind_the_candidates_its_place_is_said_and_more_candidates_have_it_evaluated(code: World) -> None:
    whole = ask(code, mode="oneshot")
    read = {hit.path for hit in whole.results}
    assert whole.files_read == 20
    explained = [explain(code, path, mode="oneshot") for path in sorted(set(MANY) - read)[:2]]
    assert {failed(absence) for absence in explained} == {"candidates"}
    assert any(absence.lever is not None for absence in explained)


def test_what_was_found_and_not_evaluated_before_the_search_ended_fails_at_the_budget(code: World) -> None:
    asked = FileSearch(query="Mutex", collection="code", why_not="utils/locking.py")
    job_id = code.submit(asked)
    (search,) = asked.steps
    run_step(Bell(job_id, search, asked.queue_of(search)), code.ports)  # and nobody answers the bells that it rings
    settle_late(code.board.picture(job_id), asked, code.ports)
    result = code.result(job_id)
    assert isinstance(result, FileResult)
    assert result.why_not is not None
    assert failed(result.why_not) == "budget"


def test_the_words_of_the_gates() -> None:
    assert say_unfound(1, ["words"]) == "no search of 1 round found it: words"
    assert say_behind({2: 31}, candidates=20) == "place 31 in round 2; 20 files are evaluated in a round"
    assert say_band(0.431) == "0.431 (low); medium begins at 0.5"
