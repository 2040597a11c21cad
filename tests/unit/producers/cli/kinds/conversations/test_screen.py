"""The screen of conversations: how the query was read, then the hits, then where a session was lost."""

from datetime import UTC, datetime

from querymill.cli.kinds.conversations import KIND
from querymill_shared.contracts.conversations.search import (
    ConversationHit,
    ConversationResult,
    SpellingCorrection,
    SynonymsOf,
    Understanding,
    UnderstoodTime,
)
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from tests.fixtures.screens import shown

DAY = datetime(2026, 3, 11, tzinfo=UTC)
MARCH = UnderstoodTime(start=datetime(2026, 3, 1, tzinfo=UTC), end=None, phrase="since March")
READ = Understanding(
    searched="product pages", intent="decision", importance=0.3, mode="normal", keywords=(), time=MARCH,
    corrections=(SpellingCorrection(written="prodcut", read_as="product"),),
    synonyms=(SynonymsOf(term="pages", synonyms=("sheets", "leaves")),),
)  # fmt: skip
HIT = ConversationHit(
    session_id="s1", name=None, user_name=None, started_at=DAY, last_active=DAY,
    score=0.9136, explanation={"factors": {"bm25": 1.0, "rank": 0.9136}}, snippet="caching\nthe pages", marks=((0, 7),),
    placed_by="topic", placed_for="cache",
)  # fmt: skip
RESULT = ConversationResult(
    job_id="j", total=1, complete=True, query="q", collection="c", results=(HIT,), scoring="bounded",
    understanding=READ, why_not=Absence.at("s9", ("time", "words"), "words", "it has none of the words"),
    timing={"rank_ms": 8.0},
)  # fmt: skip


def test_the_screen_says_how_it_came_to_its_hits() -> None:
    assert shown(KIND, RESULT).splitlines() == [
        "  understood: decision, importance 0.3, normal; searched: product pages",
        "  only from 2026-03-01 00:00 UTC (since March)",
        "  read prodcut as product",
        "  also, at a lower weight, for pages: sheets, leaves",
        " 1  0.9136  s1  2026-03-11  topic: cache",
        "      caching the pages",
        "      0.9136 = 1.000 bm25 × 0.914 rank",
        "  s9 was lost at: words (it has none of the words)",
        "  1 candidates in all · scored by bounded · rank 8 ms",
    ]


def test_a_session_that_was_not_lost_is_said_to_be_a_hit() -> None:
    hit = Absence.as_hit("s1", ("time", "words"), 1)
    assert "  s1 is a hit (at place 1)" in shown(KIND, RESULT.model_copy(update={"why_not": hit}))


def test_a_hit_says_which_message_it_shows_and_when_that_was_written() -> None:
    hit = HIT.model_copy(update={"message_number": 3, "message_at": DAY})
    shown_hit = shown(KIND, RESULT.model_copy(update={"results": (hit,)}))
    assert "      0.9136 = 1.000 bm25 × 0.914 rank · message 3 of 2026-03-11 00:00 UTC" in shown_hit.splitlines()


def test_a_hit_of_words_and_vectors_shows_its_ranks() -> None:
    joined = {"k": 10, "weights": {"words": 1.0, "vectors": 0.25}, "ranks": {"words": 2, "vectors": 1}, "words": 0.9136}
    both = HIT.model_copy(
        update={"score": 0.1061, "explanation": HIT.explanation | {"joined": joined | {"cosine": 0.87}}}
    )
    near = joined | {"ranks": {"vectors": 3}, "cosine": 0.81}
    del near["words"]
    alone = HIT.model_copy(update={"score": 0.0192, "explanation": HIT.explanation | {"joined": near}})
    gap = Degradation(stage="embed", reason="2 rows pending")
    printed = shown(KIND, RESULT.model_copy(update={"results": (both, alone), "degraded": (gap,)})).splitlines()
    assert (
        "      0.1061 = 1 / (10 + rank 2 by words) + 0.25 / (10 + rank 1 by vectors)"
        " · 0.9136 by words = 1.000 bm25 × 0.914 rank · cosine 0.870"
    ) in printed
    assert "      0.0192 = 0.25 / (10 + rank 3 by vectors) · cosine 0.810" in printed
    assert "  degraded: embed: 2 rows pending" in printed
