"""The fields of a code document: its own name, and its rare modules."""

from collections import Counter

import pytest

from querymill_workers.retrievers.modules.rules.fields import (
    MODULE_WEIGHT,
    NAME_WEIGHT,
    counts_of,
    field_bonus,
    field_terms,
    own_name,
    rarity_of,
    searchable_text,
)
from querymill_workers.text.bm25 import K1, IndexStatistics, Scored, TermScore, idf

NAMES = ("vtkActor", "vtkConeSource", "vtk.Widgets.vtkResliceCursor")


def having(units: int = 100, **terms: int) -> Scored:
    """A document that has these terms, which so many documents have."""
    found = tuple(TermScore(name.replace("__", ":"), 0, 1, df, 0.0, 0.0) for name, df in terms.items())
    return Scored(1.0, 10, IndexStatistics(units, 1000), found)


@pytest.mark.parametrize(
    ("path", "title", "name"),
    [("Examples/Cone/index.js", None, "Examples Cone"), ("Cone/Simple.jsx", "A cone", "Cone Simple A cone"),
     ("cone.js", 7, "cone"), ("a\\b\\main.ts", None, "a b")],
)  # fmt: skip
def test_a_document_is_called_by_its_folders_its_file_and_its_title(path: str, title: object, name: str) -> None:
    assert own_name(path, title) == name


def test_what_is_searched_by_words_is_description_names_and_identifiers() -> None:
    text = searchable_text("an orange cone", ["vtk.Filters.Sources.vtkConeSource"], "const $a = 2 + coneSize; // 锥体")
    assert text == "an orange cone\nvtkConeSource\nconst $a coneSize"


def test_only_the_last_segment_of_a_module_is_indexed() -> None:
    assert searchable_text("", ["vtk.A.vtkB"], "") == "\nvtkB\n"


def test_an_entry_has_its_words_and_a_term_for_each_word_of_its_name_and_each_module() -> None:
    counts = counts_of("red cone", name="Cone", modules=["vtk.Filters.vtkConeSource"])
    assert counts == Counter({"cone": 2, "red": 1, "@n:cone": 1, "@m:conesource": 1})


def test_a_search_asks_for_names_and_for_the_modules_whose_words_it_has() -> None:
    assert field_terms(Counter({"cone": 1, "cursor": 1}), NAMES) == [
        "@n:cone", "@n:cursor", "@m:conesource", "@m:reslicecursor",
    ]  # fmt: skip


def test_the_bonus_is_what_the_formula_says() -> None:
    scored = having(**{"@n__cone": 4, "@m__conesource": 10})
    query = Counter({"cone": 1, "red": 1})
    rarity = rarity_of([scored], NAMES)
    assert rarity["cone"] == 10
    expected = (NAME_WEIGHT * idf(100, 4) + MODULE_WEIGHT * idf(100, 10)) / (1 + K1)
    assert field_bonus(scored, query, NAMES, rarity=rarity) == pytest.approx(expected)


def test_a_module_that_more_than_a_tenth_of_the_documents_use_adds_nothing() -> None:
    scored = having(**{"@m__actor": 11})
    assert rarity_of([scored], NAMES) == {}
    assert field_bonus(scored, Counter({"actor": 1}), NAMES, rarity={}) == 0
