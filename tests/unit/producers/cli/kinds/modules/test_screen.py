"""The screen of modules: a score with the ranks that it is made of, and what the request was read as."""

from querymill.cli.kinds.modules import KIND
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult
from tests.fakes.hostile import hostile
from tests.fixtures.screens import shown

HIT = hostile(ModuleDocumentHit).model_copy(
    update={
        "file_path": "cone.js",
        "description": "An orange\n cone",
        "score": 0.0492,
        "explanation": {"k": 60, "weights": {"modules": 2.0, "text": 1.0}},
        "channels": {"modules": {"rank": 1.0, "score": 0.769}, "text": {"rank": 3.0}},
        "match_explanation": (
            {"hits": 1, "normalized_weight": 0.769, "modules": [{"module": "vtkPlane", "name": "@kit/a.vtkPlane"}]},
            {"hits": 0, "normalized_weight": 0.231, "modules": []},
        ),
    }
)
RESULT = hostile(ModuleResult).model_copy(
    update={"results": (HIT,), "raw_history": (), "degraded": (), "timing": {"first_branch_ms": 38.0}, "total": 26}
    | {"unknown_modules": (), "why_not": None}
)


def test_a_score_is_shown_as_the_ranks_that_it_is_made_of() -> None:
    assert shown(KIND, RESULT).splitlines() == [
        " 1  0.0492  cone.js",
        "      An orange cone",
        "      0.0492 = 2 / (60 + rank 1 by modules) + 1 / (60 + rank 3 by text)",
        "      modules: 0.769 = 1 × 0.769   (vtkPlane as vtkPlane)",
        "  26 documents in all · first branch 38 ms",
    ]


def test_a_class_that_no_document_uses_is_named() -> None:
    unknown = RESULT.model_copy(update={"unknown_modules": ("vtkFooBar",)})
    assert "  no document uses vtkFooBar" in shown(KIND, unknown).splitlines()


def test_no_hits_are_said_to_be_none() -> None:
    assert shown(KIND, RESULT.model_copy(update={"results": ()})).splitlines()[0] == "  no hits"
