from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.services.rules import budget
from querymill_workers.services.rules.budget import MIN_PASSAGE_TOKENS, PromptPassage, around, labelled
from querymill_workers.text.tokens import estimate


def words(tokens: int) -> str:
    """A text of about so many tokens: a Chinese character is nearly one."""
    return "字" * tokens


def fitted(texts: list[str], *, max_tokens: int) -> list[str]:
    return [shown.text for shown in budget.fitted([PromptPassage(text) for text in texts], max_tokens=max_tokens)]


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


@given(st.lists(st.text(alphabet="a字 1", max_size=400), min_size=1, max_size=8), st.integers(1, 1500))
def test_the_budget_is_kept_and_texts_are_only_cut_at_their_end(texts: list[str], budget: int) -> None:
    shown = fitted(texts, max_tokens=budget)
    assert sum(map(estimate, shown)) <= budget
    assert all(text.startswith(part) for text, part in zip(texts, shown, strict=False))
    assert 1 <= len(shown) <= len(texts)


def test_a_page_is_cut_around_what_matched_and_says_how_much_is_gone() -> None:
    page = "\n".join([*(f"line {number} of many words that say little" for number in range(300)), "17.3 million"])
    assert estimate(page) > 2000
    shown = around(page, "17.3 million", max_tokens=200)
    assert shown.endswith("\nline 299 of many words that say little\n17.3 million")
    first, _, rest = shown.partition("\n")
    assert first == f"[{len(page) - len(rest):,} characters cut]"
    assert 150 < estimate(shown) <= 200


def test_what_matched_in_the_middle_is_shown_with_both_of_its_sides() -> None:
    lines = [f"line {number} of many words that say little" for number in range(300)]
    shown = around("\n".join(lines), "\n".join(lines[150:153]), max_tokens=200)
    assert all(line in shown for line in lines[148:155])
    assert shown.startswith("[")
    assert shown.endswith(" characters cut]")


def test_without_a_match_the_beginning_is_shown() -> None:
    page = "\n".join(f"line {number} of many words that say little" for number in range(300))
    assert around(page, "", max_tokens=100).startswith("line 0 of many")
    assert around(page, "nothing of this", max_tokens=100).startswith("line 0 of many")
    assert around("short", "", max_tokens=100) == "short"


def test_a_passage_stands_under_its_label_within_its_budget() -> None:
    shown = labelled(PromptPassage(words(500), label="Aurora Foods, 2022, page 3"), max_tokens=100)
    assert shown.text.startswith("Aurora Foods, 2022, page 3\n字")
    assert shown.is_cut
    assert estimate(shown.text) <= 100
    assert not labelled(PromptPassage("9.1", label="Aurora"), max_tokens=100).is_cut


@given(st.text(alphabet="ab 1\n字", max_size=600), st.integers(0, 600), st.integers(1, 200), st.integers(1, 300))
def test_around_keeps_to_its_budget(text: str, start: int, length: int, most: int) -> None:
    assert estimate(around(text, text[start : start + length], max_tokens=most)) <= most
