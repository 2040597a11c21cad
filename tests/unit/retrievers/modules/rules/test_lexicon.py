import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.modules.rules.lexicon import (
    EMPTY,
    MAX_MODULES_PER_WORD,
    MIN_RATIO,
    Lexicon,
    learn,
    log_likelihood_ratio,
    modules_of,
    plain_words,
    words_in,
)
from querymill_workers.retrievers.modules.rules.names import NO_SHORTHANDS, shorthands_of
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary

SUMMARIES = [
    *(DocumentSummary(n, ("vtkConeSource", "vtkActor"), "An orange cone. 一个锥体") for n in range(5)),
    *(DocumentSummary(n, ("vtkPlane", "vtkActor"), "A cut by a plane") for n in range(5, 20)),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("An orange ConeSource!", ["an", "orange", "cone", "source"]),
        ("a 3 x 4 grid2", ["grid"]),
        ("画锥体，cone吧", ["画锥", "锥体", "cone"]),
        ("STLReader_STL", ["stl", "reader", "stl"]),
        ("", []),
    ],
)
def test_the_words_of_a_text(text: str, words: list[str]) -> None:
    assert [word for word, _ in words_in(text)] == words


@given(st.text(max_size=80))
def test_every_word_stands_where_it_says(text: str) -> None:
    for word, start in words_in(text):
        assert text[start : start + len(word)].lower() == word


def test_words_learn_the_modules_they_go_together_with() -> None:
    lexicon = learn(SUMMARIES)
    assert lexicon.words["cone"] == lexicon.words["orange"] == lexicon.words["锥体"] == ("vtkConeSource",)
    assert lexicon.words["plane"] == ("vtkPlane",)
    assert all("vtkActor" not in modules for modules in lexicon.words.values())


def test_a_word_stands_for_few_modules() -> None:
    many = tuple(f"vtkM{n}" for n in range(9))
    lexicon = learn([*(DocumentSummary(n, many, "lamp") for n in range(5)), *SUMMARIES])
    assert len(lexicon.words["lamp"]) == MAX_MODULES_PER_WORD


def test_the_ratio_worked_by_hand() -> None:
    """Both in 5 of 20 documents, always together: 2 × (5 ln 4 + 15 ln 4/3)."""
    assert log_likelihood_ratio(5, 5, 5, 20) == pytest.approx(2 * (5 * math.log(4) + 15 * math.log(4 / 3)))
    assert log_likelihood_ratio(1, 4, 5, 20) == 0.0
    assert log_likelihood_ratio(5, 5, 20, 20) == 0.0


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_the_ratio_is_symmetric_and_never_negative(both: int, first: int, second: int, neither: int) -> None:
    one, other, total = both + first, both + second, both + first + second + neither
    ratio = log_likelihood_ratio(both, one, other, total)
    assert ratio >= -1e-9
    assert ratio == pytest.approx(log_likelihood_ratio(both, other, one, total))


@given(st.permutations(SUMMARIES))
def test_the_order_of_the_documents_does_not_matter(summaries: list[DocumentSummary]) -> None:
    assert learn(summaries) == learn(SUMMARIES)


def test_nothing_is_learned_from_nothing() -> None:
    assert learn([]) == EMPTY
    assert log_likelihood_ratio(1, 1, 1, 1) < MIN_RATIO


def test_plain_words_say_which_word_spoke() -> None:
    found = plain_words("my OrangeCone", Lexicon({"cone": ("vtkConeSource",)}))
    assert [(module.name, module.rule, module.text, module.start) for module in found] == [
        ("vtkConeSource", "lexicon", "cone", 9)
    ]


def test_the_lexicon_is_asked_only_when_nothing_is_named() -> None:
    lexicon = Lexicon({"cone": ("vtkConeSource",), "red": ("vtkProperty",)})
    named = modules_of("a red cone on vtkActor", shorthands=NO_SHORTHANDS, lexicon=lexicon)
    assert [module.name for module in named] == ["vtkActor"]
    shorthands = shorthands_of({}, ["vtkPlane"])
    assert [m.name for m in modules_of("a red plane", shorthands=shorthands, lexicon=lexicon)] == ["Plane"]
    assert [m.name for m in modules_of("a red cone", shorthands=shorthands, lexicon=lexicon)] == [
        "vtkProperty",
        "vtkConeSource",
    ]
