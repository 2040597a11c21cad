"""What rerank endpoints reply: any shape is read, on any scale of which the order is clear."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.client import Limited, NoResponse, Rejected
from querymill_workers.inference.rankings import Entry, Scale, probability, read_ranking, relevance_by_index, scale_of
from querymill_workers.inference.work import Misfit
from querymill_workers.jobs.faults import Refused

READ = (Entry(1, 0.5), Entry(0, 0.25))
SHAPES: dict[str, object] = {
    "Cohere": {"results": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.25}]},
    "Cohere with documents": {"results": [
        {"document": {"text": "b"}, "index": 1, "relevance_score": 0.5},
        {"document": {"text": "a"}, "index": 0, "relevance_score": 0.25},
    ]},
    "Voyage": {"object": "list", "data": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.25}]},
    "Mixedbread": {"data": [{"index": 1, "score": 0.5}, {"index": 0, "score": 0.25}]},
    "TEI": [{"index": 1, "score": 0.5}, {"index": 0, "score": 0.25}],
    "NIM": {"rankings": [{"index": 1, "logit": 0.5}, {"index": 0, "logit": 0.25}]},
    "DashScope": {"output": {"results": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.25}]}},
    "texts for numbers": {"results": [{"index": "1", "score": "0.5"}, {"index": 0.0, "score": 0.25}]},
    "a zero left out": [{"index": 1, "score": 0.5}, {"score": 0.25}],
    "null for zero": [{"index": 1, "score": 0.5}, {"index": None, "score": 0.25}],
}  # fmt: skip


@pytest.mark.parametrize("reply", SHAPES.values(), ids=SHAPES.keys())
def test_each_shape_says_the_same(reply: object) -> None:
    assert read_ranking(json.dumps(reply).encode()).entries == READ


@pytest.mark.parametrize("reply", [{"scores": [0.25, 0.5]}, [0.25, "0.5"], {"results": [0.25, 0.5]}])
def test_bare_numbers_come_in_the_order_of_the_passages(reply: object) -> None:
    assert read_ranking(json.dumps(reply).encode()).entries == READ[::-1]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [({"usage": {"total_tokens": 9}}, 9), ({"meta": {"tokens": {"input_tokens": 7}}}, 7), ({"usage": None}, None),
     ({"usage": {"total_tokens": "9"}}, None), ({"meta": []}, None), ({}, None)],
)  # fmt: skip
def test_tokens_are_what_the_endpoint_says(usage: dict[str, Any], tokens: int | None) -> None:
    assert read_ranking(json.dumps({"results": []} | usage).encode()).tokens == tokens


@pytest.mark.parametrize("content", [
    b"", b"garbage", b"\xff", b"null", b"3", b"{}", b'{"results": {}}', b'{"results": [{"index": "one", "score": 1}]}',
    b'{"results": [{"index": 1}]}', b'[{"index": 0, "score": NaN}]', b'[{"index": 0, "score": 1e999}]',
    b'[{"index": 0, "score": true}]', b'[0.5, {"index": 0}]', b"[" * 100_000,
])  # fmt: skip
def test_what_holds_no_relevances_may_pass(content: bytes) -> None:
    with pytest.raises(NoResponse):
        read_ranking(content)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [(b"<html>", NoResponse, "an HTML page"), (b'{"error": {"code": 503, "message": "x"}}', NoResponse, "HTTP 503"),
     (b'[{"error": {"code": 429, "message": "slow"}}]', Limited, "HTTP 429"),
     (b'{"error": {"code": "model_not_found", "message": "no"}}', Rejected, "an error instead")],
)  # fmt: skip
def test_a_page_or_an_error_in_place_of_relevances_is_named(content: bytes, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        read_ranking(content)


@pytest.mark.parametrize(
    ("scores", "known", "scale"),
    [
        ([], "probability", "probability"),
        ([0.0, 1.0], "probability", "probability"),
        ([7.74, -2.34], "probability", "logit"),
        ([-0.01], "probability", "logit"),
        ([0.2, 0.9], "logit", "logit"),
        ([36.0], "probability", "logit"),
        ([98.5, 0.5], "probability", "percent"),
        ([3.0, 0.5], "percent", "percent"),
        ([-900.0, 2.0], "probability", "logit"),
    ],
)
def test_the_scale_follows_from_the_numbers_and_is_remembered(scores: list[float], known: Scale, scale: Scale) -> None:
    assert scale_of(scores, known) == scale


@pytest.mark.parametrize(("scores", "known"), [([1e6], "probability"), ([-1.0], "percent"), ([99.0], "logit")])
def test_numbers_on_no_scale_are_refused(scores: list[float], known: Scale) -> None:
    with pytest.raises(Misfit, match="expected 0 to 1, a logit, or 0 to 100"):
        scale_of(scores, known)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=9, unique=True))
def test_a_scale_keeps_the_order_of_the_endpoint(scores: list[float]) -> None:
    scale = scale_of(scores)
    found = [probability(score, scale) for score in sorted(scores)]
    assert found == sorted(found)
    assert all(0 <= relevance <= 1 for relevance in found)


def test_a_logit_is_read_by_its_sigmoid() -> None:
    assert probability(0.0, "logit") == 0.5
    assert probability(2.0, "logit") == pytest.approx(1 / (1 + math.exp(-2)))
    assert probability(-1e9, "logit") == pytest.approx(0)
    assert probability(50.0, "percent") == 0.5


def test_a_passage_that_the_endpoint_left_out_is_missing() -> None:
    assert relevance_by_index([Entry(2, 0.5), Entry(0, 1.0)], count=3) == {2: 0.5, 0: 1.0}
    assert relevance_by_index([], count=3) == {}


@pytest.mark.parametrize("indexes", [[3], [-1], [1, 1], [0, 0]])
def test_an_index_that_cannot_be_voids_the_whole_response(indexes: list[int]) -> None:
    with pytest.raises(Refused, match="rerank endpoint: invalid or repeated index"):
        relevance_by_index([Entry(index, 0.5) for index in indexes], count=3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["results", "data", "index", "score", "error", "output", "usage"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_reply_raises_what_nobody_expects(reply: object) -> None:
    try:
        ranking = read_ranking(json.dumps(reply).encode())
        relevance_by_index(ranking.entries, count=3, scale=scale_of([entry.score for entry in ranking.entries]))
    except (NoResponse, Limited, Rejected, Misfit):
        pass
