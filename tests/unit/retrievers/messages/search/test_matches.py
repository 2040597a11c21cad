"""What the cosine of a row is worth to a question."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.messages.rules.sessions import MessageRow
from querymill_workers.retrievers.messages.search.matches import TEXT_SIMILARITY, CalibratedQuestion
from querymill_workers.text.calibration import IDENTITY, Calibration

POINTS = Calibration(((0.7, 0.0), (0.8, 0.4), (1.0, 1.0)))
cosines = st.none() | st.floats(-1, 1)


def asked(calibration: Calibration = IDENTITY) -> CalibratedQuestion:
    return CalibratedQuestion(np.ones(2, np.float32), "words", calibration, -2.0)


def row(raw: float | None) -> MessageRow:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return MessageRow("v", "=a", "a", "s", "ships", "message", noon, None, None, None, raw)


@pytest.mark.parametrize(("raw", "similarity"), [(0.9, 0.7), (0.8, 0.4), (0.2, 0.0), (1.0, 1.0), (None, 0.5)])
def test_a_cosine_is_calibrated_and_a_row_without_one_is_worth_text(raw: float | None, similarity: float) -> None:
    assert asked(POINTS).similarity(row(raw)) == pytest.approx(similarity)


def test_a_similarity_has_no_more_places_than_a_cosine_of_float32() -> None:
    assert asked().similarity(row(0.123456789)) == 0.123457


@given(st.lists(cosines), st.sampled_from([IDENTITY, POINTS]))
def test_the_best_similarity_is_that_of_the_greatest_cosine(raws: list[float | None], calibration: Calibration) -> None:
    question, known = asked(calibration), [raw for raw in raws if raw is not None]
    expected = question.similarity(row(max(known))) if known else None
    assert question.best_similarity([row(raw) for raw in raws]) == expected


@given(cosines, cosines)
def test_a_greater_cosine_is_never_less_similar(one: float | None, other: float | None) -> None:
    question = asked(POINTS)
    if one is None or other is None:
        assert TEXT_SIMILARITY in (question.similarity(row(one)), question.similarity(row(other)))
    else:
        assert question.similarity(row(min(one, other))) <= question.similarity(row(max(one, other)))
