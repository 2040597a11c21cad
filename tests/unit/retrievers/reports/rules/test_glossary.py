import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.glossary import bundled, configured
from querymill_workers.retrievers.reports.rules.glossary import terms_in

GLOSSARY = {
    "EBITDA": "earnings before interest, taxes, depreciation and amortisation",
    "EBIT": "earnings before interest and taxes",
    "free cash flow": "cash left after investments",
    "cash": "money at hand",
    "毛利率": "gross margin",
    "毛利": "gross profit",
    "R&D": "research and development",
}


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("What is the EBITDA of Acme?", ["EBITDA"]),
        ("what is ebitda", ["EBITDA"]),
        ("EBITDAs and preEBIT", []),
        ("Acme的EBITDA是多少", ["EBITDA"]),
        ("How much free cash flow is there?", ["free cash flow"]),
        ("free cash flow and cash", ["free cash flow", "cash"]),
        ("毛利率和毛利", ["毛利率", "毛利"]),
        ("毛利率", ["毛利率"]),
        ("spending on R&D.", ["R&D"]),
        ("", []),
    ],
)
def test_terms_of_the_question_are_found_the_longest_first(question: str, terms: list[str]) -> None:
    assert list(terms_in(question, GLOSSARY)) == terms


def test_each_term_comes_with_its_explanation() -> None:
    assert terms_in("EBIT?", GLOSSARY) == {"EBIT": GLOSSARY["EBIT"]}


def test_no_more_terms_are_found_than_the_limit() -> None:
    question = "EBITDA, EBIT, free cash flow, cash, 毛利率, R&D"
    assert len(terms_in(question, GLOSSARY)) == 5
    assert list(terms_in(question, GLOSSARY, limit=2)) == ["free cash flow", "EBITDA"]


@given(st.lists(st.sampled_from([*GLOSSARY, "and", "of", ",", "的"]), max_size=8).map(" ".join), st.integers(0, 4))
def test_a_lower_limit_gives_the_head_of_the_same_list(question: str, limit: int) -> None:
    every = list(terms_in(question, GLOSSARY, limit=9))
    assert list(terms_in(question, GLOSSARY, limit=limit)) == every[:limit]
    assert all(term.lower() in question.lower() for term in every)


def test_the_bundled_glossary_knows_a_term_by_both_its_names() -> None:
    glossary = bundled()
    (chinese,) = [term for term, explanation in glossary.items() if explanation.startswith("EBITDA: ")]
    assert glossary[chinese] == f"EBITDA: {glossary['EBITDA']}"
    assert not chinese.isascii()


def test_every_bundled_term_is_found_in_a_question_about_it() -> None:
    glossary = bundled()
    for term in glossary:
        assert next(iter(terms_in(f"what is {term}?", glossary))) == term


def test_a_setting_adds_terms_as_json_or_from_a_file(tmp_path: Path) -> None:
    written = {"ARPU": "average revenue per user", "EBITDA": {"explanation": "our own", "zh": "自定义利润"}}
    path = tmp_path / "glossary.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    for setting in (json.dumps(written), str(path)):
        glossary = configured(setting)
        assert glossary["ARPU"] == "average revenue per user"
        assert (glossary["EBITDA"], glossary["自定义利润"]) == ("our own", "EBITDA: our own")
        assert len(glossary) > len(written)
    assert configured("") == bundled()


@pytest.mark.parametrize("setting", ["[]", "{", '{"a": 1}', '{"a": {"zh": "b"}}', "/nowhere/glossary.json"])
def test_what_is_no_glossary_is_refused_by_the_name_of_its_setting(setting: str) -> None:
    with pytest.raises(ValueError, match="QUERYMILL_GLOSSARY"):
        configured(setting)
