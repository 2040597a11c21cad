from hypothesis import given, settings
from hypothesis import strategies as st

from querymill_workers.services.rules.budget import MIN_PASSAGE_TOKENS, fitted
from querymill_workers.text.tokens import estimate


def words(tokens: int) -> str:
    """A text of about so many tokens: a Chinese character is nearly one."""
    return "字" * tokens


def test_short_passages_stay_whole_and_long_ones_share_what_is_left() -> None:
    short, *long = fitted([words(50), words(400), words(400)], max_tokens=600)
    assert short == words(50)
    assert len(long[0]) == len(long[1])
    assert 540 < estimate(long[0]) + estimate(long[1]) <= 600 - estimate(short)


def test_passages_that_fit_stay_whole() -> None:
    texts = [words(100), words(200)]
    assert fitted(texts, max_tokens=1000) == texts


def test_rather_fewer_passages_than_scraps() -> None:
    shown = fitted([words(500)] * 20, max_tokens=1000)
    assert len(shown) == 10
    assert all(estimate(text) >= MIN_PASSAGE_TOKENS - 1 for text in shown)


def test_the_best_passage_is_shown_whatever_the_budget() -> None:
    assert fitted([words(500), words(500)], max_tokens=30) == [
        words(500)[: len(fitted([words(500)], max_tokens=30)[0])]
    ]


@settings(deadline=None)
@given(st.lists(st.text(alphabet="a字 1", max_size=400), min_size=1, max_size=8), st.integers(1, 1500))
def test_the_budget_is_kept_and_texts_are_only_cut_at_their_end(texts: list[str], budget: int) -> None:
    shown = fitted(texts, max_tokens=budget)
    assert sum(map(estimate, shown)) <= budget
    assert all(text.startswith(part) for text, part in zip(texts, shown, strict=False))
    assert 1 <= len(shown) <= len(texts)
