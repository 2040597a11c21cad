"""The two rankings of a hybrid search, joined by rank."""

from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.retrievers.messages.rules.sessions import MessageRow
from querymill_workers.retrievers.messages.search.choose import fuse, key_of, passing
from querymill_workers.retrievers.messages.search.matches import CalibratedQuestion
from querymill_workers.text.calibration import IDENTITY

QUESTION = CalibratedQuestion(np.ones(2, np.float32), "words", IDENTITY, 0.7)


def row(
    key: str, vector_type: Literal["message", "context"] = "message", raw: float | None = 0.9, session_id: str = "s"
) -> MessageRow:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    named = f"{session_id}/{key}/{vector_type}"
    return MessageRow(named, key, None, session_id, f"{key} of {session_id}", vector_type, noon, None, None, None, raw)


def search(**fields: object) -> MessageSearch:
    return MessageSearch.model_validate({"collection": "c", "query": "q", "hybrid": True} | fields)


def test_first_by_vector_and_second_by_words_is_the_worked_example() -> None:
    rankings = {"vector:message": [row("a"), row("b")], "words:message": [row("c"), row("a")]}
    best, *_ = fuse(rankings, search(), QUESTION)
    assert best.score == pytest.approx(1 / 61 + 1 / 62)
    assert round(best.score, 4) == 0.0325
    assert (best.row.message_key, best.found_by, best.similarity) == ("a", ("vector", "words"), 0.9)
    assert best.explanation["ranks"] == {"vector:message": 1, "words:message": 2}


def test_a_limit_leaves_the_head_of_the_list_as_it_is() -> None:
    rankings = {"vector:message": [row("a"), row("b")], "words:message": [row("c"), row("a")]}
    whole = fuse(rankings, search(), QUESTION)
    assert [fuse(rankings, search(), QUESTION, limit=count) for count in (1, 2, 9)] == [whole[:1], whole[:2], whole]


def test_the_weights_are_those_of_the_request_and_halved_with_contexts() -> None:
    rankings = {"vector:message": [row("a")], "words:context": [row("b", "context")]}
    both = search(include_context=True, vectors_weight=3.0, words_weight=1.0, rrf_k=1)
    first, second = fuse(rankings, both, QUESTION)
    assert [first.score, second.score] == pytest.approx([1.5 / 2, 0.5 / 2])
    assert first.explanation["weights"] == {"vector:message": 1.5}


@pytest.mark.parametrize("order", [("message", "context"), ("context", "message")])
def test_a_message_is_shown_by_its_own_row_whichever_was_found_first(order: tuple[str, str]) -> None:
    rankings = {f"vector:{of}": [row("a", of)] for of in order}  # type: ignore[arg-type]
    (only,) = fuse(rankings, search(include_context=True), QUESTION)
    assert only.row.vector_type == "message"
    (alone,) = fuse({"words:context": [row("a", "context", None)]}, search(include_context=True), QUESTION)
    assert (alone.row.vector_type, alone.similarity, alone.found_by) == ("context", 0.5, ("words",))


def test_messages_of_two_sessions_are_never_taken_for_one() -> None:
    assert key_of(row("a")) == key_of(row("a", "context"))
    pairs = [("s", "a"), ("s", "b"), ("t", "a"), ("s/a", "b"), ("s", "a/b"), ("1/s", "a")]
    assert len({key_of(row(key, session_id=session_id)) for session_id, key in pairs}) == len(pairs)


def test_a_row_passes_that_reaches_the_threshold_or_has_no_vector() -> None:
    rows = [row("a", raw=0.7), row("b", raw=0.69), row("c", raw=None), row("d", raw=-1.0)]
    assert [found.message_key for found in passing(rows, QUESTION)] == ["a", "c"]


ranking = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(ranking, ranking, st.integers(1, 100))
def test_each_message_is_matched_once_best_first(by_vector: list[str], by_words: list[str], rrf_k: int) -> None:
    rankings = {"vector:message": [row(key) for key in by_vector], "words:message": [row(key) for key in by_words]}
    found = fuse(rankings, search(rrf_k=rrf_k), QUESTION)
    assert sorted(match.row.message_key for match in found) == sorted({*by_vector, *by_words})
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    for match in found:
        ranks, weights = match.explanation["ranks"], match.explanation["weights"]
        assert match.score == pytest.approx(sum(weights[name] / (rrf_k + rank) for name, rank in ranks.items()))
        assert match.found_by == tuple(name.split(":")[0] for name in ranks)
