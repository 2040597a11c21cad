from collections import Counter

import numpy as np
import pytest

from querymill_workers.text.words import words
from querymill_workers.vectors.rules.drafts import Draft
from querymill_workers.vectors.rules.known_items import AskedPassage, FoundItem, SampledPassage, find_items
from querymill_workers.vectors.rules.weights import VectorsWeight, choose_weight, explain_weight
from querymill_workers.vectors.rules.worth import VectorsWorth, estimate_worth, is_chance, weight_of

NEAR, FAR = (0.9, 0.95, 0.97), (0.1, 0.2, 0.3)


def item(words: float, vectors: float, nearer: float = 0.0) -> FoundItem:
    return FoundItem(words, vectors, nearer, related=0.8 + vectors / 10, unrelated=(0.1, 0.3))


def worth_of(*items: FoundItem) -> VectorsWorth:
    return estimate_worth(items, passages=500, language="en")


@pytest.mark.parametrize(
    ("words", "vectors", "weight"),
    [
        (0.5, 0.4, 0.42),
        (0.5, 0.45, 1.0),
        (0.5, 0.5, 2.39),
        (1.0, 1.0, 3.93),
        (0.95, 0.95, 3.93),
        (0.7, 0.63, 1.0),
        (0.5, 0.01, 0.0),
    ],
)
def test_the_weight_follows_the_odds(words: float, vectors: float, weight: float) -> None:
    assert weight_of(words, vectors) == pytest.approx(weight, abs=0.005)


def test_a_better_model_weighs_more() -> None:
    weights = [weight_of(0.4, vectors / 100) for vectors in range(101)]
    assert weights == sorted(weights)
    assert [weight_of(words / 100, 0.4) for words in range(101)] == sorted(
        (weight_of(words / 100, 0.4) for words in range(101)), reverse=True
    )


def test_an_estimate_has_an_interval_and_a_calibration() -> None:
    found = worth_of(*[item(1.0, 0.5), item(0.2, 0.5), item(0.5, 0.3)] * 30)
    assert (found.items, found.passages, found.language) == (90, 500, "en")
    assert (found.words, found.vectors) == pytest.approx((0.567, 0.433), abs=0.001)
    assert found.weight is not None
    assert found.low < found.weight < weight_of(found.words, found.vectors) < found.high
    raw, similarities = zip(*found.points, strict=True)
    assert similarities == (0.0, 0.4, 0.6, 0.8, 1.0)
    assert list(raw) == sorted(raw)
    assert worth_of(*[item(1.0, 0.5), item(0.2, 0.5), item(0.5, 0.3)] * 30) == found


def test_few_questions_say_nothing() -> None:
    assert worth_of(*[item(0.5, 0.5)] * 39).weight is None
    assert worth_of(*[item(0.5, 0.5)] * 40).weight == 2.39
    assert worth_of(*find_items([], [])).weight is None


def test_questions_that_nobody_can_answer_say_nothing_unless_the_model_is_chance() -> None:
    assert worth_of(*[item(0.05, 0.02, nearer=0.1)] * 50).weight is None
    assert worth_of(*[item(0.05, 0.02, nearer=share / 50) for share in range(50)]).weight == 0.0


def test_chance_is_half_the_passages_nearer() -> None:
    assert is_chance(np.full(100, 0.42))
    assert not is_chance(np.full(100, 0.41))


def sample(*texts: str, vectors: list[list[float]] | None = None) -> list[SampledPassage]:
    rows = vectors or np.eye(len(texts)).tolist()
    return [SampledPassage(f"d{n}", Counter(words(text)), np.array(rows[n])) for n, text in enumerate(texts)]


def test_a_passage_is_ranked_without_the_sentence_that_became_the_question() -> None:
    passages = sample("red ship. anchors hold.", "red ship at sea", "green tea")
    asked = AskedPassage(
        0, Draft("red ship", "anchors hold.", "red ship."), np.array([1.0, 0, 0]), np.array([0.9, 0, 0])
    )
    (found,) = find_items(passages, [asked])
    assert found.words == 0.0  # what is left of it has no word of the question
    assert (found.vectors, found.nearer) == (1.0, 0.0)
    assert found.related == pytest.approx(0.9)
    assert found.unrelated == (0.0, 0.0)
    again = AskedPassage(
        0, Draft("anchors ship", "anchors hold.", "red ship."), np.array([0, 1.0, 0]), np.array([0.9, 0, 0])
    )
    (other,) = find_items(passages, [again])
    assert other.words == 1.0
    assert other.vectors == pytest.approx(1 / 2.5)


def test_a_model_that_gives_every_text_one_vector_is_chance() -> None:
    same = [[1.0, 0.0]] * 50
    passages = sample(*(f"ship number {n} is here" for n in range(50)), vectors=same)
    asked = [
        AskedPassage(n, Draft(f"number {n}", "ship is here", f"number {n}"), np.array([1.0, 0]), np.array([1.0, 0]))
        for n in range(50)
    ]
    found = find_items(passages, asked)
    assert {each.nearer for each in found} == {0.5}
    assert worth_of(*found).weight == 0.0


def test_passages_of_the_same_document_are_no_rivals() -> None:
    passages = [
        SampledPassage("d", Counter(words("red ship")), np.array([1.0, 0])),
        SampledPassage("d", Counter(words("red ship anchors red")), np.array([0, 1.0])),
    ]
    asked = AskedPassage(1, Draft("red ship", "anchors red", "red ship"), np.array([1.0, 0]), np.array([0, 1.0]))
    (found,) = find_items(passages, [asked])
    assert (found.words, found.vectors, found.unrelated) == (1.0, 1.0, ())


def test_the_request_decides_then_the_estimate_then_the_kind() -> None:
    worth = VectorsWorth(0.35, 0.1, 0.8, 0.5, 0.4, 128, 1_000)
    chosen = choose_weight(None, worth, usual=0.25, language="en")
    assert chosen == VectorsWeight(0.35, "estimate", worth)
    assert explain_weight(chosen) == {
        "vectors_weight_from": "estimate",
        "vectors_worth": {"words": 0.5, "vectors": 0.4, "questions": 128, "low": 0.1, "high": 0.8},
    }
    asked = choose_weight(0.0, worth, usual=0.25, language="en")
    assert (asked.weight, explain_weight(asked)) == (0.0, {"vectors_weight_from": "request"})
    assert choose_weight(None, None, usual=0.25, language="en") == VectorsWeight(0.25)
    # The estimate is of questions in the language of the collection.
    assert choose_weight(None, worth, usual=0.25, language="zh").weight == 0.25
