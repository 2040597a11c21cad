"""The words of neighbours: which messages are neighbours, how much their words count, and how they are taken out."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from querymill_workers.retrievers.messages.rules.neighbours import (
    TUNING,
    addressed_by,
    changed_around,
    entries_of,
    link_to,
    merged,
    shares_around,
    without,
)
from querymill_workers.retrievers.messages.rules.sessions import SessionMessage, vector_id
from querymill_workers.text import bm25
from querymill_workers.text.bm25 import IndexStatistics, QueryTerm, Scored
from querymill_workers.text.words import words
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import WordHit, WordUnit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(*lines: tuple[str, str]) -> list[SessionMessage]:
    return [
        SessionMessage(f"={place}", str(place), text, NOON, None, {"user_name": speaker})
        for place, (speaker, text) in enumerate(lines)
    ]


def id_of(place: int) -> str:
    return vector_id("s", f"={place}", "message")


def test_of_two_speakers_two_messages_on_each_side_count_0_3() -> None:
    messages = said(*[("Ada" if place % 2 else "Bob", "x") for place in range(6)])
    assert shares_around(messages)[2] == {0: 6, 1: 6, 3: 6, 4: 6}
    assert shares_around(messages)[0] == {1: 6, 2: 6}


def test_among_more_speakers_the_same_one_counts_a_half_and_who_is_addressed_does_too() -> None:
    messages = said(
        ("Ada", "where do I anchor"), ("Bob", "morning"), ("Cy", "evening"), ("Bob", "well"), ("Bob", "Ada: here")
    )
    assert shares_around(messages)[4] == {2: 5, 3: 10, 0: 10}
    assert shares_around(messages)[1] == {0: 5, 2: 5, 3: 10}


def test_a_name_is_addressed_only_by_others_who_follow_and_only_at_the_beginning() -> None:
    messages = said(("Ada", "Bob: hello"), ("Cy", "x"), ("Bob", "x"), ("Cy", "x"), ("Ada", "ask ada: yes"))
    assert [shares_around(messages)[place] for place in (0, 4)] == [{1: 5, 2: 5}, {2: 5, 3: 5}]
    assert [addressed_by(text) for text in ("@Ada: look", "ada, look", "小明：看", "no name", ": x")] == [
        "ada", "ada", "小明", None, None,
    ]  # fmt: skip


def test_a_message_without_a_name_has_the_speaker_of_its_role() -> None:
    messages = [SessionMessage(f"#{n}", None, "x", NOON, role) for n, role in enumerate(["user", "assistant", "tool"])]
    assert shares_around(messages)[0] == {1: 5, 2: 5}


def test_an_entry_counts_in_twentieths_and_links_to_its_neighbours() -> None:
    entry, *_ = entries_of("s", said(("Ada", "ship ship"), ("Bob", "ship at sea")), words)
    assert (entry.id, entry.group) == (id_of(0), "s")
    assert entry.counts == Counter({"ship": 46, "sea": 6, link_to("1"): 6, **({"at": 6} if words("at") else {})})


def test_only_entries_that_count_a_changed_message_are_made_again() -> None:
    messages = said(*[("Ada", f"word{place}") for place in range(8)])
    made = entries_of("s", messages, words, changed={id_of(7)})
    assert [entry.id for entry in made] == [id_of(5), id_of(6), id_of(7)]


def test_a_third_speaker_changes_every_share() -> None:
    two, three = said(("Ada", "x"), ("Bob", "y")), said(("Ada", "x"), ("Bob", "y"), ("Cy", "z"))
    assert changed_around("s", two, {id_of(1)}) == {id_of(1)}
    assert changed_around("s", three, {id_of(2)}) is None


def test_scores_are_those_of_the_fractions() -> None:
    whole = bm25.score(
        {"ship": 46}, 60, terms=[QueryTerm("ship", 1, 2)], statistics=IndexStatistics(4, 200), **tuning()
    )
    parts = bm25.score(
        {"ship": 2.3}, 3, terms=[QueryTerm("ship", 1, 2)], statistics=IndexStatistics(4, 10), k1=bm25.K1, b=TUNING.b  # type: ignore[dict-item]
    )  # fmt: skip
    assert whole.score == pytest.approx(parts.score)


def tuning() -> dict[str, float]:
    return {"k1": TUNING.k1, "b": TUNING.b}


def searched(index: MemoryWords, query: str, link: str) -> dict[str, WordHit]:
    hits = index.search("c", "near", query, limit=10, tuning=TUNING, also=[link])
    return {hit.id: hit for hit in hits}


def test_the_words_of_one_neighbour_can_be_taken_out_again() -> None:
    messages = said(("Ada", "red ship"), ("Bob", "red house"), ("Ada", "nothing"))
    index = MemoryWords()
    index.put("c", "near", entries_of("s", messages, words))
    index.put("c", "own", [WordUnit(id_of(place), message.text, "s") for place, message in enumerate(messages)])
    own = {hit.id: hit for hit in index.search("c", "own", "red ship", limit=10)}
    found = searched(index, "red ship", link_to("0"))
    left = without(found[id_of(1)], link_to("0"), own[id_of(0)].scored)
    assert left is not None
    assert left.scored is not None
    assert {term.term: term.tf for term in left.scored.terms} == {"red": 20}
    assert left.scored.length == 2 * 20 + 6 * (len(words("nothing")) + 1)
    assert without(found[id_of(2)], link_to("1"), None) is not None
    assert found[id_of(2)].scored is not None


def test_an_entry_without_a_word_of_its_own_is_no_hit_once_they_are_out() -> None:
    index = MemoryWords()
    index.put("c", "near", entries_of("s", said(("Ada", "ship"), ("Bob", "hello")), words))
    index.put("c", "own", [WordUnit(id_of(0), "ship", "s")])
    (own,) = index.search("c", "own", "ship", limit=10)
    assert without(searched(index, "ship", link_to("0"))[id_of(1)], link_to("0"), own.scored) is None


def hit(name: str, score: float, units: int) -> WordHit:
    return WordHit(name, score, Scored(score, 1, IndexStatistics(units, units), ()))


def test_what_its_own_words_alone_found_comes_last() -> None:
    near, own = [hit("a", 3, 4), hit("b", 2, 4)], [hit("d", 9, 4), hit("a", 8, 4)]
    assert [each.id for each in merged(near, own)] == ["a", "b", "d"]
