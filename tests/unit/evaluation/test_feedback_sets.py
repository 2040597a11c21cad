"""Judgements become queries and grades of a set."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from querymill_evaluation.feedback_sets import judged_id, qrels_lines, queries_of, query_lines
from querymill_shared.contracts.feedback import KeptJudgement
from querymill_shared.contracts.filters import Retriever

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def judged(query: str, document: str, place: str, relevance: int, *, day: int = 0, **asked: Any) -> KeptJudgement:
    return KeptJudgement(
        job="a", asked={"query": query, **asked}, hit=f"{document}/page/{place}", document=document, place=place,
        relevance=relevance, comment="", at=MONDAY + timedelta(days=day),
    )  # fmt: skip


def test_of_several_judgements_the_latest_counts() -> None:
    # The same page judged 1 on Monday and 3 on Tuesday has the grade 3.
    given = [judged("ships?", "r", "1", 3, day=1), judged("ships?", "r", "1", 1), judged("ships?", "r", "2", 0, day=2)]
    (query,), unnamed = queries_of("reports", given)
    assert (query.text, query.grades, unnamed) == ("ships?", {"r/1": 3, "r/2": 0}, 0)
    assert qrels_lines([query]) == [
        "query-id\tcorpus-id\tscore", f"{query.query_id}\tr/1\t3", f"{query.query_id}\tr/2\t0",
    ]  # fmt: skip


def test_the_same_words_in_another_context_are_another_question() -> None:
    given = [judged("ships?", "r", "1", 1, company="Nordhav"), judged("ships?", "r", "1", 1)]
    queries, _ = queries_of("reports", given)
    assert [query.metadata for query in queries] == [{"company": "Nordhav"}, {}]
    assert len({query.query_id for query in queries}) == 2
    assert '"metadata": {"company": "Nordhav"}' in query_lines(queries)[0]


def test_a_question_late_in_a_chat_keeps_the_turns_before_it() -> None:
    before = [{"role": "user", "text": "How many ships sailed in 2020?"}]
    given = [judged("and in 2021?", "r", "1", 1, history=before), judged("and in 2021?", "r", "1", 3)]
    queries, _ = queries_of("reports", given)
    assert [query.metadata for query in queries] == [{"history": before}, {}]


def test_a_conversation_is_asked_at_its_time() -> None:
    given = [judged("yesterday?", "s", "", 1, now="2026-01-05T00:00:00Z"), judged("yesterday?", "t", "", 2, day=1)]
    (query,), _ = queries_of("conversations", given)
    assert query.grades == {"s": 1, "t": 2}
    assert query.metadata == {"created_at": "2026-01-05T00:00:00Z"}


@pytest.mark.parametrize(
    ("kind", "place", "expected"),
    [("reports", "7", "d/7"), ("reports", "", None), ("messages", "m1", "m1"), ("messages", "", None),
     ("conversations", "", "d"), ("modules", "", "d"), ("files", "", "d")],
)  # fmt: skip
def test_a_judgement_names_what_a_set_of_its_kind_names(kind: Retriever, place: str, expected: str | None) -> None:
    assert judged_id(kind, "d", place) == expected


def test_what_cannot_be_named_is_counted() -> None:
    queries, unnamed = queries_of("messages", [judged("q", "s", "", 1), judged("q", "s", "m1", 1)])
    assert ([query.grades for query in queries], unnamed) == ([{"m1": 1}], 1)
