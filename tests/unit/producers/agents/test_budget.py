"""The bound of tokens lies above what a vocabulary counts, so a reply keeps to its budget."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from querymill.agents.budget import bound, end_within, fits
from querymill.agents.found import FoundHit
from querymill.agents.tools.replies import LEAST_TOKENS, compose, entry_of
from querymill.presenting.places import Place, PlaceSpan
from tests.fixtures.tokens import TEXTS, counted


@given(TEXTS)
@example("Kowalczyk")
@example("00000bce 00000bce")
@example("fadedbead abcdefab")
def test_a_text_has_no_more_tokens_than_its_bound(text: str) -> None:
    assert counted(text) <= bound(text)


@given(st.text(max_size=200), st.integers(1, 60))
def test_what_fits_is_a_beginning_within_the_budget(text: str, most: int) -> None:
    end = end_within(text, max_tokens=most)
    assert bound(text[:end]) <= most
    kept = fits(text, max_tokens=most)
    assert bound(kept) <= most
    assert kept == text or text.startswith(kept.removesuffix(" […]"))


@pytest.mark.parametrize(("text", "most"), [("", 0), ("the fleet counts nine ships", 10), ("公司营业收入增长", 14)])
def test_a_bound_is_not_far_above(text: str, most: int) -> None:
    assert counted(text) <= bound(text) <= most


def hits(texts: Sequence[str]) -> list[FoundHit]:
    return [
        FoundHit(
            Place("reports", "filings", f"ab{number}" * 4, PlaceSpan(number, number)),
            f"年报 ACME 10-K {number}",
            0.5,
            text,
        )
        for number, text in enumerate(texts)
    ]


@given(st.lists(TEXTS, max_size=12), st.integers(LEAST_TOKENS, 2_000))
def test_every_reply_keeps_to_its_budget_and_cuts_no_id(texts: list[str], most: int) -> None:
    found = hits(texts)
    entries = [entry_of(number, hit, "") for number, hit in enumerate(found, start=1)]
    told: list[int] = []

    def foot(shown: int) -> str:
        told.append(shown)
        return f'{len(found) - shown} more: cursor="{shown}-0123abcd"'

    text = compose(
        lambda shown: f"{shown} of {len(found)} hits in filings (reports)", entries, foot=foot, max_tokens=most
    )
    assert counted(text) <= most
    assert [str(hit.place) for hit in found if f" id {hit.place} " in text] == [
        str(hit.place) for hit in found[: told[-1]]
    ]
    assert text.endswith(foot(told[-1]))


def test_titles_come_first_and_passages_by_rank_until_the_budget_is_used() -> None:
    found = hits(["one two three " * 200] * 6)
    entries = [entry_of(number, hit, "") for number, hit in enumerate(found, start=1)]
    text = compose(lambda _: "6 hits", entries, foot=lambda _: "", max_tokens=600)
    assert all(f"[{number}]" in text for number in range(1, 7))
    lengths = [len(line) for line in text.splitlines() if "one two" in line]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 300


@pytest.mark.parametrize("most", range(260, 420, 7))
def test_no_passage_is_left_out_while_a_later_one_is_shown(most: int) -> None:
    found = hits(
        ["## Segment review FY2022\n\n| $ million | Revenue |\n" * 20, "Three customers stood for 57% of it. " * 20]
    )
    entries = [entry_of(number, hit, "") for number, hit in enumerate(found, start=1)]
    text = compose(lambda _: "2 of 70 hits", entries, foot=lambda _: "68 more", max_tokens=most)
    assert counted(text) <= most
    assert "Segment" in text or "Three" not in text


def test_many_hits_are_not_shown_where_even_their_titles_do_not_fit() -> None:
    found = hits(["text"] * 50)
    entries = [entry_of(number, hit, "") for number, hit in enumerate(found, start=1)]
    text = compose(
        lambda shown: f"{shown} of 50", entries, foot=lambda shown: f"{50 - shown} more", max_tokens=LEAST_TOKENS
    )
    shown = int(text.split(" of ", 1)[0])
    assert 0 < shown < 50
    assert text.endswith(f"{50 - shown} more")
