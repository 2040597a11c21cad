"""Which of two topics `modules` must put first: the one that is asked for more."""

import pytest

from tests.quality.floors.modules import TOPICS, WEIGHTED, found

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(("more", "less"), WEIGHTED)
def test_swapping_the_weights_swaps_the_documents(more: tuple[str, str], less: tuple[str, str]) -> None:
    (one, first), (other, second) = more, less
    query = f"{one}, {other}"
    for weights, expected in (((10, 3), (first, second)), ((3, 10), (second, first))):
        parts = [{"description": one, "weight": weights[0]}, {"description": other, "weight": weights[1]}]
        # The vectors in memory know words alone, and would be joined for a Chinese request: they say nothing of it.
        hits = found(query, sub_queries=parts, channels=["modules", "text"])
        assert hits[0] == TOPICS[expected[0]], hits
        assert TOPICS[expected[1]] in hits[:6], hits
