"""What the steps of `modules` leave on the board: any worker goes on from it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from querymill_shared.board import Outcome, Step
from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch, RawRecall
from querymill_shared.contracts.results import Degradation
from querymill_workers.retrievers.modules.flow import flow_of
from querymill_workers.retrievers.modules.notes import (
    BranchNotes,
    ChannelRank,
    FusedDocument,
    LexiconNotes,
    MatchReasons,
)
from tests.fixtures.world import World, example

CONE = example(0, "vtkConeSource", "vtkActor", description="A red cone", code="cone()")
PLANE = example("0", "vtkPlane", "vtkActor", description="Cut by a plane", code="cut()")
MATH = example(7, "vtkMath", description="a plane cut", code="x")
PARTS = [{"description": "vtkConeSource and the actor", "weight": 10}, {"description": "a plane", "weight": 3}]
REQUEST = ModuleSearch.model_validate({
    "collection": "code", "query": "vtkConeSource, the actor and a plane", "top_k": 2, "sub_queries": PARTS,
})  # fmt: skip

#: The notes of a worker for this request: a ranking of triples, matches of pairs, channels of pairs.
NOTED: dict[str, Any] = json.loads("""
{
  "raw": [
    {"description": "vtkConeSource and the actor", "weight": 10.0, "normalized_weight": 0.769231,
     "modules": [{"module": "vtkConeSource", "rule": "class", "text": "vtkConeSource"},
                 {"module": "actor", "rule": "shorthand", "text": "actor"}],
     "total": 2, "documents": [0, "0"]},
    {"description": "a plane", "weight": 3.0, "normalized_weight": 0.230769,
     "modules": [{"module": "Plane", "rule": "shorthand", "text": "plane"}], "total": 1, "documents": ["0"]}
  ],
  "ranking": [
    [0, 0.04918032786885246, {"modules": [1, 1.5384615384615385], "text": [1, 1.7725202961097843]}],
    ["0", 0.04838709677419355, {"modules": [2, 1.0], "text": [2, 0.5757767321358911]}],
    [7, 0.015873015873015872, {"text": [3, 0.3098229065042394]}]
  ],
  "matches": [
    [
      [
        {"description": "vtkConeSource and the actor", "weight": 10.0, "normalized_weight": 0.769231, "hits": 2,
         "modules": [{"module": "vtkConeSource", "rule": "class", "text": "vtkConeSource", "how": "exact",
                      "name": "vtkConeSource"},
                     {"module": "actor", "rule": "shorthand", "text": "actor", "how": "exact", "name": "vtkActor"}],
         "asked": ["vtkConeSource", "actor"]},
        {"description": "a plane", "weight": 3.0, "normalized_weight": 0.230769, "hits": 0, "modules": [],
         "asked": ["Plane"]}
      ],
      ["vtkConeSource", "actor"]
    ],
    [
      [
        {"description": "vtkConeSource and the actor", "weight": 10.0, "normalized_weight": 0.769231, "hits": 1,
         "modules": [{"module": "actor", "rule": "shorthand", "text": "actor", "how": "exact", "name": "vtkActor"}],
         "asked": ["vtkConeSource", "actor"]},
        {"description": "a plane", "weight": 3.0, "normalized_weight": 0.230769, "hits": 1,
         "modules": [{"module": "Plane", "rule": "shorthand", "text": "plane", "how": "exact", "name": "vtkPlane"}],
         "asked": ["Plane"]}
      ],
      ["actor", "Plane"]
    ]
  ],
  "weights": {"modules": 2.0, "text": 1.0},
  "degraded": [],
  "timing": {"parts": 0.01, "recall": 0.29, "score": 0.16, "text": 0.14},
  "lexicon_version": 0,
  "usage": {"provider_calls": 0, "tokens": 0}
}
""")
WITHOUT_WORDS: dict[str, Any] = NOTED | {
    "ranking": [[0, 2.0, {"modules": [1, 2.0]}], [7, 1.0, {"modules": [2, 1.0]}]],
    "matches": [NOTED["matches"][0], [[], []]],
    "weights": {},
    "degraded": [{"stage": "text", "reason": "words: away"}],
}


def step_with(notes: dict[str, Any]) -> Step:
    return Step("original", "done", 1, notes=notes)


def hand_over(world: World, notes: dict[str, Any], request: ModuleSearch = REQUEST) -> str:
    """Let one worker close the first branch, and another go on from there."""
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "original")
    assert claim is not None
    picture = world.board.finish(claim, Outcome(notes=notes))
    assert picture is not None
    flow_of(request).conclude(picture, world.ports)
    return job_id


def settled_with(world: World, notes: dict[str, Any]) -> ModuleResult:
    result = decode_result(str(world.board.result(hand_over(world, notes))))
    assert isinstance(result, ModuleResult)
    return result


def test_what_is_noted_by_position_is_read_by_name() -> None:
    read = BranchNotes.of(step_with(NOTED))
    assert read.ranking[1] == FusedDocument("0", 0.04838709677419355, {
        "modules": ChannelRank(rank=2, score=1.0), "text": ChannelRank(rank=2, score=0.5757767321358911),
    })  # fmt: skip
    assert read.matches[0].keywords == ("vtkConeSource", "actor")
    assert [part.hits for part in read.matches[1].parts] == [1, 1]
    assert read.matches[1].parts[1].modules[0].name == "vtkPlane"


def test_a_job_that_another_worker_searched_is_settled(world: World) -> None:
    world.ingest_code(CONE, PLANE, MATH)
    mine = world.result(world.run(REQUEST))
    theirs = settled_with(world, NOTED)
    assert isinstance(mine, ModuleResult)
    assert [hit.document for hit in theirs.results] == [0, "0"]
    assert theirs.raw_history == mine.raw_history
    by_document = {hit.document: hit for hit in mine.results}
    for hit in theirs.results:
        assert hit.match_explanation == by_document[hit.document].match_explanation


def test_a_degraded_branch_keeps_its_reason_and_its_plain_scores(world: World) -> None:
    world.ingest_code(CONE, MATH)
    result = settled_with(world, WITHOUT_WORDS)
    assert result.degraded == (Degradation(stage="text", reason="words: away"),)
    assert not result.complete
    assert [(hit.document, hit.score, hit.match_explanation) for hit in result.results][1] == (7, 1.0, ())
    assert result.results[0].explanation == {"formula": "Σ hits × normalized_weight", "mode": "hits", "match": "exact"}


def test_the_ranking_so_far_is_told_from_notes_of_another_worker(world: World) -> None:
    request = REQUEST.model_copy(update={"sub_queries": (), "split": True})
    job_id = hand_over(world, NOTED, request)
    last = world.board.events(job_id)[-1][1]
    assert isinstance(last, Hits)
    assert (last.total, [(hit.key, round(hit.score, 3)) for hit in last.hits]) == (3, [("0", 0.049), ('"0"', 0.048)])


def test_a_document_that_was_deleted_since_is_left_out(world: World) -> None:
    world.ingest_code(PLANE)
    result = settled_with(world, NOTED)
    assert [hit.document for hit in result.results] == ["0"]
    assert [row.document for row in result.reranked_history] == [0, "0", 7]


def test_fields_of_a_later_release_are_ignored() -> None:
    part = NOTED["matches"][0][0][0] | {"boost": 2}
    later = NOTED | {"cost": {"cents": 1}, "matches": [[[part], ["vtkConeSource"]], [[], []]]}
    read = BranchNotes.of(step_with(later))
    assert "cost" not in read.for_board()
    assert read.matches[0].parts == BranchNotes.of(step_with(NOTED)).matches[0].parts[:1]


@pytest.mark.parametrize(
    "ranking", [[[0, 1.0]], [[0, 1.0, {"modules": [1]}]], [[0, "best", {}]], [[None, 1.0, {}]], [{"0": 1.0}]]
)
def test_a_ranking_of_another_shape_is_refused(ranking: list[Any]) -> None:
    with pytest.raises(ValidationError, match="ranking"):
        BranchNotes.of(step_with(NOTED | {"ranking": ranking}))


_IDS = st.integers(-(2**63), 2**63 - 1) | st.text(min_size=1, max_size=8)
_SCORES = st.floats(0, 1e6)
_HITS = st.builds(
    FusedDocument,
    _IDS,
    _SCORES,
    st.dictionaries(st.sampled_from(["modules", "text"]), st.builds(ChannelRank, st.integers(1, 2000), _SCORES)),
)


@given(ranking=st.lists(_HITS, max_size=5), documents=st.lists(_IDS, max_size=3))
def test_notes_survive_the_board(ranking: list[FusedDocument], documents: list[int | str]) -> None:
    raw = RawRecall(
        description="x", weight=5, normalized_weight=1, modules=(), total=len(documents), documents=tuple(documents)
    )
    notes = BranchNotes(
        raw=(raw,), ranking=tuple(ranking), matches=(MatchReasons(),), weights={}, degraded=(), lexicon_version=3
    )
    board = json.loads(json.dumps(notes.for_board()))
    assert BranchNotes.of(step_with(board)) == notes
    assert all(isinstance(hit, list) and len(hit) == 3 for hit in board["ranking"])


def test_notes_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        BranchNotes.of(step_with(NOTED)).lexicon_version = 7


def test_what_was_learned_is_read_as_it_was_noted() -> None:
    notes, board = LexiconNotes(words=9, version=2, documents=12), {"words": 9, "version": 2, "documents": 12}
    assert notes.for_board() == board
    assert LexiconNotes.of(step_with(board)) == notes
