"""Spelling by the collection's vocabulary."""

import pytest

from querymill_workers.retrievers.conversations.rules.spelling import Correction, corrected, corrections, suspects


def mended(text: str, **near: list[str]) -> str:
    return corrected(text, corrections(suspects(text), near=near))


@pytest.mark.parametrize(
    ("text", "near", "expected"),
    [
        ("databse tuning", {"databs": ["databas", "data"]}, "database tuning"),  # two letters swapped
        ("the timeuot", {"timeuot": ["timeout"]}, "the timeout"),
        ("conection lost", {"conect": ["connect", "correct"]}, "connection lost"),  # one left out
        ("Retrry it", {"retrri": ["retri"]}, "retry it"),  # one too many
        ("kubernettes pods", {"kubernett": ["kubernet"]}, "kubernetes pods"),
        ("数据库 databse", {"databs": ["databas"]}, "数据库 database"),
    ],
)
def test_a_word_nobody_used_becomes_the_nearest_that_somebody_did(
    text: str, near: dict[str, list[str]], expected: str
) -> None:
    assert mended(text, **near) == expected


def test_a_word_that_the_collection_knows_is_left_alone() -> None:
    assert mended("databse tuning") == "databse tuning"  # a known term has no entry


def test_short_words_are_left_alone() -> None:
    assert suspects("the fox ran") == {}


@pytest.mark.parametrize(
    "identifier",
    [
        "loadBatch",
        "load_batch",
        "load.batch",
        "batch()",
        "src/batch",
        "batch.py",
        "HTTP",
        "`batch`",
        "batch-size",
        "@batch",
    ],
)
def test_identifiers_are_never_suspected(identifier: str) -> None:
    assert suspects(identifier) == {}


def test_of_equally_near_words_none_is_chosen() -> None:
    assert mended("cacle", cacl=["cabl", "cach"]) == "cacle"
    assert mended("worke", work=["word", "worm"]) == "worke"


def test_a_wrong_first_letter_and_two_edits_in_a_short_word_are_too_much() -> None:
    assert mended("qatabase", qatabas=["databas"]) == "qatabase"
    assert mended("chace", chace=["chunk"]) == "chace"


def test_what_was_changed_is_said() -> None:
    assert corrections(suspects("Databse databse"), near={"databs": ["databas"]}) == [Correction("databse", "database")]
