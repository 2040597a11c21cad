"""English stems: examples of each rule, of our own choosing beside the well-known ones of the description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.stemming import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # plurals
        ("caresses", "caress"), ("ponies", "poni"), ("ships", "ship"), ("glass", "glass"), ("ties", "ti"),
        # past and present participles
        ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"), ("rendering", "render"),
        ("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"), ("sized", "size"), ("hopping", "hop"),
        ("falling", "fall"), ("hissing", "hiss"), ("fizzed", "fizz"), ("failing", "fail"), ("filing", "file"),
        # a final y
        ("happy", "happi"), ("sky", "sky"), ("query", "queri"),
        # long suffixes
        ("relational", "relat"), ("conditional", "condit"), ("hesitancy", "hesit"), ("digitizer", "digit"),
        ("radically", "radic"), ("vietnamization", "vietnam"), ("operator", "oper"), ("decisiveness", "decis"),
        ("hopefulness", "hope"), ("sensitivity", "sensit"),
        # middle suffixes
        ("triplicate", "triplic"), ("formative", "form"), ("electrical", "electr"), ("goodness", "good"),
        # last suffixes
        ("revival", "reviv"), ("allowance", "allow"), ("adjustable", "adjust"), ("replacement", "replac"),
        ("adoption", "adopt"), ("expression", "express"), ("communism", "commun"), ("effective", "effect"),
        # a final e, a double l
        ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controll", "control"), ("roll", "roll"),
        # y as a vowel and as a consonant
        ("toying", "toi"), ("syzygy", "syzygi"),
    ],
)  # fmt: skip
def test_a_word_is_reduced_by_the_rules(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("group", [("connect", "connected", "connecting", "connection", "connections")])
def test_the_forms_of_a_word_share_a_stem(group: tuple[str, ...]) -> None:
    assert len({stem(word) for word in group}) == 1


@pytest.mark.parametrize("word", ["is", "渲染", "größe", "2022", "vtk.actor", "Ships", ""])
def test_what_is_no_english_word_stays(word: str) -> None:
    assert stem(word) == word


@given(st.from_regex("[a-z]{1,30}", fullmatch=True))
def test_a_stem_is_never_empty_and_hardly_longer(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word)
