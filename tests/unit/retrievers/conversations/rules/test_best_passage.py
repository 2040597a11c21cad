"""The best message of a session, and the snippet cut from it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.best_passage import SNIPPET_LENGTH, best_passage, snippet
from querymill_workers.text import bm25
from querymill_workers.text.words import places, words


def scored(query: str, *messages: str) -> bm25.Scored:
    """Score a session of these messages in a collection that has another one too."""
    unit, other = Counter(words("\n".join(messages))), Counter(words("soup for lunch, and soup for supper"))
    statistics = bm25.IndexStatistics(2, unit.total() + other.total())
    terms = [
        bm25.QueryTerm(term, times, (term in unit) + (term in other)) for term, times in Counter(words(query)).items()
    ]
    return bm25.score(unit, unit.total(), terms=terms, statistics=statistics)


def test_the_message_with_the_best_bm25_is_shown() -> None:
    messages = ["hello there", "the ship", "a ship and its crew", "crew"]
    found = best_passage(messages, scored("ship crew", *messages))
    assert found is not None
    assert (found.place, found.text) == (2, "a ship and its crew")
    assert [found.text[start:end] for start, end in found.marks] == ["ship", "crew"]


def test_of_equal_messages_the_first_is_shown() -> None:
    messages = ["ship one", "ship two"]
    found = best_passage(messages, scored("ship", *messages))
    assert found is not None
    assert found.place == 0


SOME = ["ships", "shipping", "crew", "crews", "quickly", "quick", "try", "数据", "据库", "soup", "ponies", "pony"]
TEXTS = st.lists(st.sampled_from(SOME), max_size=6)


@given(st.lists(TEXTS.map(" ".join), min_size=1, max_size=8), TEXTS.map(" ".join))
def test_it_is_the_best_of_all_however_few_are_looked_at(messages: list[str], query: str) -> None:
    whole = scored(query, *messages)
    terms = [bm25.QueryTerm(term.term, term.times, term.df) for term in whole.terms]
    scores = [
        bm25.score(counts, counts.total(), terms=terms, statistics=whole.statistics).score
        for counts in (Counter(words(text)) for text in messages)
    ]
    found = best_passage(messages, whole)
    assert (None if found is None else found.place) == (scores.index(max(scores)) if max(scores) > 0 else None)


def test_no_message_has_the_words_of_the_name() -> None:
    assert best_passage(["nothing"], scored("ship", "ship")) is None


def test_every_form_of_a_word_is_marked_in_both_languages() -> None:
    text = "Shipping 数据库连接池 ships; vtk.shipYard"
    found = snippet(text, set(words("ships 连接池")), place=0)
    assert [found.text[start:end] for start, end in found.marks] == ["Shipping", "连接池", "ships", "vtk.shipYard"]


def test_a_long_message_is_cut_where_most_words_stand_together() -> None:
    text = "ship " + "x " * 400 + "the ship and the crew " + "y " * 400
    found = snippet(text, set(words("ship crew")), place=0)
    assert "the ship and the crew" in found.text
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= SNIPPET_LENGTH + 2
    assert [found.text[start:end] for start, end in found.marks] == ["ship", "crew"]


@given(st.text(alphabet="ab 数据库连\n.ship", max_size=700))
def test_marks_lie_in_the_snippet_in_order(text: str) -> None:
    found = snippet(text, set(words("ship 数据库")), place=0)
    flat = [end for mark in found.marks for end in mark]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)
    assert len(found.text) <= SNIPPET_LENGTH + 2


@given(st.text(alphabet="aB1_. 数据库,\n", max_size=60))
def test_places_hold_the_words_of_the_whole_text(text: str) -> None:
    assert [word for _, _, found in places(text) for word in found] == words(text)
