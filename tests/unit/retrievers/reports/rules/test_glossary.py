import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.glossary import bundled, configured
from querymill_workers.retrievers.reports.rules.glossary import Glossary, Term, stated, terms_in

GLOSSARY = Glossary(
    {
        "EBITDA": Term("earnings before interest, taxes, depreciation and amortisation"),
        "EBIT": Term("earnings before interest and taxes", "operating income"),
        "free cash flow": Term("cash left after investments", "net cash provided by operating activities"),
        "cash": Term("money at hand"),
        "acid-test ratio": Term("quick assets divided by current liabilities", "accounts receivable"),
        "shareholders' equity": Term("net assets"),
        "毛利率": Term("gross margin", "gross profit"),
        "毛利": Term("gross profit"),
        "R&D": Term("research and development"),
    }
)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("What is the EBITDA of Acme?", ["EBITDA"]),
        ("what is ebitda", ["EBITDA"]),
        ("EBITDAs and preEBIT", []),
        ("Acme的EBITDA是多少", ["EBITDA"]),
        ("How much free cash flow is there?", ["free cash flow"]),
        ("free-cash  flow", ["free cash flow"]),
        ("the acid test ratio", ["acid-test ratio"]),
        ("shareholders’ equity", ["shareholders' equity"]),
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
    assert terms_in("EBIT?", GLOSSARY) == {"EBIT": GLOSSARY.terms["EBIT"]}


def test_no_more_terms_are_found_than_the_limit() -> None:
    question = "EBITDA, EBIT, free cash flow, cash, 毛利率, R&D"
    assert len(terms_in(question, GLOSSARY)) == 5
    assert list(terms_in(question, GLOSSARY, limit=2)) == ["free cash flow", "EBITDA"]


def test_a_question_is_stated_by_the_words_of_its_terms_that_have_any() -> None:
    assert stated("cash and EBIT", GLOSSARY) == {"EBIT": "operating income"}
    assert stated("nothing of it", GLOSSARY) == {}


@given(
    st.lists(st.sampled_from([*GLOSSARY.terms, "and", "of", ",", "的"]), max_size=8).map(" ".join), st.integers(0, 4)
)
def test_a_lower_limit_gives_the_head_of_the_same_list(question: str, limit: int) -> None:
    every = list(terms_in(question, GLOSSARY, limit=9))
    assert list(terms_in(question, GLOSSARY, limit=limit)) == every[:limit]
    assert all(term.lower() in question.lower() for term in every)


def test_the_bundled_glossary_knows_a_term_by_both_its_names() -> None:
    terms = bundled().terms
    (chinese,) = [name for name, term in terms.items() if term.explanation.startswith("EBITDA: ")]
    assert terms[chinese].explanation == f"EBITDA: {terms['EBITDA'].explanation}"
    assert terms[chinese].stated_as == terms["EBITDA"].stated_as
    assert not chinese.isascii()


def test_every_bundled_term_is_found_in_a_question_about_it() -> None:
    glossary = bundled()
    for term in glossary.terms:
        assert next(iter(terms_in(f"what is {term}?", glossary))) == term


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Has the company a healthy quick ratio for FY2022?", "total current liabilities"),
        ("What was the capital expenditure in 2019?", "purchases of property, plant and equipment"),
        ("Is it fighting any legal battles?", "legal proceedings"),
        ("How did topline develop?", "net sales"),
        ("2022年的速动比率是多少？", "accounts receivable"),
    ],
)
def test_what_people_ask_leads_to_the_words_of_a_filing(question: str, words: str) -> None:
    assert words in " ".join(stated(question, bundled()).values())


def test_a_setting_adds_terms_as_json_or_from_a_file(tmp_path: Path) -> None:
    written = {
        "ARPU": "average revenue per user",
        "EBITDA": {"explanation": "our own", "zh": "自定义利润", "also": ["own profit"], "stated_as": "profit of ours"},
    }
    path = tmp_path / "glossary.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    for setting in (json.dumps(written), str(path)):
        terms = configured(setting).terms
        assert terms["ARPU"] == Term("average revenue per user")
        assert terms["EBITDA"] == terms["own profit"] == Term("our own", "profit of ours")
        assert terms["自定义利润"] == Term("EBITDA: our own", "profit of ours")
        assert len(terms) > len(bundled().terms)
    assert configured("") == bundled()


@pytest.mark.parametrize(
    "setting",
    [
        "[]",
        "{",
        '{"a": 1}',
        '{"a": {"zh": "b"}}',
        '{"a": {"explanation": "b", "also": "c"}}',
        '{"a": {"explanation": "b", "also": [" "]}}',
        '{"a": {"explanation": "b", "stated_as": ["c"]}}',
        "/nowhere/glossary.json",
    ],
)
def test_what_is_no_glossary_is_refused_by_the_name_of_its_setting(setting: str) -> None:
    with pytest.raises(ValueError, match="QUERYMILL_GLOSSARY"):
        configured(setting)
