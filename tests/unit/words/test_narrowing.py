"""A search among some entries is the whole ranking without the others."""

import random

import pytest

from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.narrowing import search_among
from querymill_workers.words.ports import WordUnit


@pytest.fixture(scope="module")
def words() -> MemoryWords:
    lot, found = random.Random(3), MemoryWords()
    texts = [" ".join(lot.choices(["soup", "ship", "tea", "salt"], k=lot.randint(1, 6))) for _ in range(200)]
    found.put("c", "s", [WordUnit(str(number), text) for number, text in enumerate(texts)])
    return found


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
def test_the_best_among_some_are_found_wherever_they_rank(words: MemoryWords, share: float) -> None:
    chosen = {str(number) for number in range(int(200 * share))} | {"unknown"}
    whole = words.search("c", "s", "soup ship", limit=1_000)
    wanted = [hit.id for hit in whole if hit.id in chosen][:5]
    assert [hit.id for hit in search_among(words, "c", "s", "soup ship", limit=5, among=chosen)] == wanted


def test_without_a_choice_all_are_searched_and_with_an_empty_one_none(words: MemoryWords) -> None:
    assert search_among(words, "c", "s", "soup", limit=5, among=None) == words.search("c", "s", "soup", limit=5)
    assert search_among(words, "c", "s", "soup", limit=5, among=[]) == []
