"""Why a code document is not among the hits: the gate, its numbers, and a lever that holds when it is pulled."""

from functools import partial
from typing import Any

import pytest

from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.contracts.why_not import Absence
from querymill_workers.retrievers.modules.search.why_not import GATES, say_unmatched
from tests.fixtures.absences import explained, failed
from tests.fixtures.world import World, example


@pytest.fixture
def code(world: World) -> World:
    """Thirty scenes: 0 has both modules and the words, the others one module, later ones with more other words."""
    scenes = [example(0, "vtkConeSource", "vtkActor", description="a red cone on a plane")]
    scenes += [
        example(n, "vtkActor", description="a red cone " + "and more " * n, code=f"run({n});") for n in range(1, 29)
    ]
    world.ingest_code(*scenes, example("soup.js", "vtkSoup", description="tomatoes"))
    return world


def ask(world: World, **fields: Any) -> ModuleResult:
    asked = {"query": "a red cone with vtkConeSource and vtkActor", "collection": "code"} | fields
    result = world.result(world.run(ModuleSearch.model_validate(asked)))
    assert isinstance(result, ModuleResult)
    return result


def explain(world: World, wanted: str, **fields: Any) -> Absence:
    return explained(partial(ask, world), GATES, lambda hit: [str(hit.document)], wanted, **fields)


def test_a_hit_has_passed_every_gate(code: World) -> None:
    absence = explain(code, "0")
    assert (absence.place, {gate.outcome for gate in absence.gates}) == (1, {"passed"})


@pytest.mark.parametrize(
    ("wanted", "fields", "gate"),
    [
        ("99", {}, "collection"),
        ("0", {"filter": {"module": "vtkSoup"}}, "filter"),
        ("soup.js", {"query": "a red cone"}, "match"),
        ("soup.js", {"query": "vtkConeSource", "channels": ["modules"]}, "match"),
    ],
)
def test_the_first_gate_that_a_document_did_not_pass_is_named(
    code: World, wanted: str, fields: dict[str, Any], gate: str
) -> None:
    absence = explain(code, wanted, **fields)
    assert (failed(absence), absence.lever) == (gate, None)


@pytest.mark.parametrize("fields", [{}, {"channels": ["modules"]}, {"channels": ["text"]}, {"channels": ["vectors"]}])
def test_behind_the_list_its_place_and_the_longer_list_are_said(code: World, fields: dict[str, Any]) -> None:
    absence = explain(code, "20", **fields)
    assert failed(absence) == "top_k"
    assert absence.lever is not None
    assert set(absence.lever.fields) == {"top_k"}


@pytest.mark.parametrize("fields", [{}, {"sub_queries": ["a red cone", "vtkActor"]}, {"channels": ["text"]}])
def test_behind_the_candidates_its_ranks_are_said_and_more_candidates_bring_it_in(
    code: World, fields: dict[str, Any]
) -> None:
    absence = explain(code, "25", candidates=8, **fields)
    assert failed(absence) == "channels"
    assert absence.failed is not None
    assert absence.failed.said.endswith("each channel gives 8")
    assert absence.lever is not None
    assert absence.lever.fields["candidates"] > 8


def test_a_list_longer_than_the_candidates_asks_for_more_of_them(code: World) -> None:
    absence = explain(code, "15", candidates=10, top_k=2)
    assert absence.lever is not None
    assert absence.lever.fields["candidates"] >= absence.lever.fields["top_k"]


def test_each_branch_explains_its_own_ranking(code: World) -> None:
    code.rewriter.replies = {"parts": '[{"description": "tomatoes", "weight": 1}]'}
    found = ask(code, split=True, why_not="0")
    assert found.why_not is not None
    assert (found.searched_by == "split") == (found.why_not.place is None)


def test_what_is_said_of_a_document_that_no_channel_found() -> None:
    assert say_unmatched(["b", "a", "a"], ["modules", "text"]) == "it uses none of a, b, and text did not find it"
    assert say_unmatched([], ["modules"]) == "the request names no module"
