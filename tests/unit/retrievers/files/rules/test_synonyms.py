"""Synonyms of programmers, in questions only."""

import pytest

from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.files.rules.definitions import AVERAGE_CHARS, Definition, scored_definitions
from querymill_workers.retrievers.files.rules.intent import Intent
from querymill_workers.retrievers.files.rules.question_frames import is_question, without_everyday
from querymill_workers.retrievers.files.rules.relevance import fields_score
from querymill_workers.retrievers.files.rules.synonyms import stands_for
from querymill_workers.text.bm25 import IndexStatistics, Scored, TermScore

THESAURUS = thesauri()["files"]


def test_a_synonym_stands_for_the_word_that_is_asked_for() -> None:
    found = stands_for(["delet", "msg"], THESAURUS)
    assert found == {"remov": "delet", "eras": "delet", "drop": "delet", "messag": "msg"}
    assert stands_for(["delet", "remov"], THESAURUS)["eras"] == "delet"
    assert "remov" not in stands_for(["delet", "remov"], THESAURUS)


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("how are retries limited", True),
        ("and where does it stop?", True),
        ("retries are limited where?", True),
        ("重试次数是多少？", True),
        ("limit retries", False),
        ("fix: do not retry after a timeout", False),
        ("is_open fails", False),
        ("what " * 80, False),
    ],
)
def test_a_question_is_told_from_a_title(query: str, asks: bool) -> None:
    assert is_question(query) is asks


def test_everyday_words_of_a_question_are_left_out() -> None:
    assert without_everyday("what happens if something fails").split() == ["what", "if", "fails"]


def test_an_occurrence_of_a_synonym_counts_half() -> None:
    intent = Intent({"delet": 2.0}, 1.0, {"remov": "delet"})
    body = "remove remove ".ljust(AVERAGE_CHARS, "x")
    (by_synonym,) = scored_definitions(intent, body, [Definition("", "", "", (1, 1), ((1, 1),))])
    word = "delete ".ljust(AVERAGE_CHARS, "x")
    (by_word,) = scored_definitions(intent, word, [Definition("", "", "", (1, 1), ((1, 1),))])
    assert by_synonym.words == by_word.words == {"delet"}
    assert by_synonym.score == by_word.score == pytest.approx(1 / (1 + 0.9))


def test_synonyms_and_words_share_one_count_in_the_fields() -> None:
    intent = Intent({"delet": 2.0}, 1.0, {"remov": "delet"})
    terms = (TermScore("delet", 1, 1, 1, 1.0, 1.0), TermScore("remov", 1, 4, 1, 1.0, 1.0))
    scored = Scored(1.0, 10, IndexStatistics(1, 10), terms)
    assert fields_score(intent, scored, path=[], names=[]) == pytest.approx(3 / (3 + 3))
