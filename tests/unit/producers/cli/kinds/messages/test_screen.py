"""The screen of messages: how similar they are, and why vectors were not compared."""

from datetime import UTC, datetime

from querymill.cli.kinds.messages import KIND
from querymill_shared.contracts.messages.search import MessageHit, MessageResult
from querymill_shared.contracts.results import Degradation
from tests.fixtures.screens import shown

HIT = MessageHit(
    vector_id="v", message_id="m", session_id="s1", content="Move\nthe  boat", vector_type="message", similarity=0.75,
    created_at=datetime(2026, 1, 1, tzinfo=UTC), session_name=None, user_name=None, message_role="user",
    raw_similarity=0.85, band="high", score=0.75, found_by=("vector", "words"), must_use=True, explanation={},
)  # fmt: skip
RESULT = MessageResult(
    job_id="j", total=2, complete=True, query="q", collection="c", results=(HIT,), mode="vector", searched="exact",
    similarity_threshold=0.7, session_id=None, total_is_exact=True, timing={"embed_ms": 5.0},
)  # fmt: skip


def test_a_hit_names_its_place_its_band_and_what_found_it() -> None:
    lines = shown(KIND, RESULT).splitlines()
    assert lines[0] == " 1  0.750  high  s1 · user · 2026-01-01 00:00 UTC  must use"
    assert lines[1] == "      Move the boat"
    assert lines[2] == "      score 0.7500, found by vector and words; cosine 0.8500"


def test_a_hit_by_text_alone_says_that_no_vector_was_compared() -> None:
    hit = HIT.model_copy(update={"raw_similarity": None, "found_by": ("substring",)})
    assert "found by substring; no vector was compared" in shown(KIND, RESULT.model_copy(update={"results": (hit,)}))


def test_without_hits_the_best_similarity_below_the_threshold_is_told() -> None:
    result = RESULT.model_copy(update={"results": (), "best_below_threshold": 0.61})
    assert "no hits: the best similarity was 0.610, the threshold 0.7" in shown(KIND, result)


def test_how_it_was_searched_and_why_not_otherwise_stand_at_the_end() -> None:
    result = RESULT.model_copy(
        update={"mode": "text", "searched": None, "why": "no model", "skipped": 3, "total_is_exact": False}
    )
    *_, searched, total = shown(KIND, result).splitlines()
    assert searched.startswith("  searched: text (no model) · 3 ")
    assert total == "  at least 2 hits in all · embed 5 ms"


def test_what_is_lacking_is_said_once() -> None:
    lacks = [{"stage": "embed", "reason": "no model"}, {"stage": "hyde", "reason": "no answer in time"}]
    changed = {"why": "no model", "degraded": tuple(map(Degradation.model_validate, lacks))}
    printed = shown(KIND, RESULT.model_copy(update=changed))
    assert printed.count("no model") == 1
    assert "degraded: hyde: no answer in time" in printed
