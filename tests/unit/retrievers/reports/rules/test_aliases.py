import pytest

from querymill_workers.retrievers.reports.rules.aliases import meant_by_short_forms, spells, tickers_of
from querymill_workers.retrievers.reports.rules.companies import company_id

COMPANIES = ["American Harbour Co", "Lumen Resorts International", "Boreal Ltd", "Boreal Data Machines", "Aurora Foods"]


@pytest.mark.parametrize(
    ("page", "tickers"),
    [
        ("Aurora Foods, Inc. (NYSE: ARFD) announced", ("ARFD",)),
        ("Common Shares, $0.20 par value   ARFD   New York Stock Exchange\nNotes due 2027  ARFD27  NYSE", ("ARFD",)),
        ("证券代码：600519 证券简称", ("600519",)),
        ("no ticker here", ()),
    ],
)
def test_the_cover_gives_the_ticker(page: str, tickers: tuple[str, ...]) -> None:
    assert tickers_of([page]) == tickers
    assert tickers_of(["", "", "", page]) == ()


@pytest.mark.parametrize(
    ("question", "company"),
    [
        ("What did AMHA earn?", "American Harbour Co"),
        ("interest coverage of Lumen", "Lumen Resorts International"),
        ("BDM's sales", "Boreal Data Machines"),
        ("sales of Boreal", None),
        ("lumen output", None),
        ("EBITDA", None),
    ],
)
def test_a_short_form_that_fits_one_company_means_it(question: str, company: str | None) -> None:
    expected = set() if company is None else {company_id(company)}
    assert meant_by_short_forms(question, COMPANIES, named={company_id("Boreal Ltd")}) == expected


def test_beginnings_of_all_words_spell_a_name() -> None:
    assert spells("amex", ("american", "express"))
    assert not spells("amex", ("american",))
    assert not spells("ame", ("american", "express", "bank"))


def test_words_that_begin_alike_are_spelled_without_trying_every_division() -> None:
    assert spells("aaaaaaaaaaaaaaaaaaaa", ("aaaaaaaa",) * 10)
    # In 1.7e9 divisions at 40 letters, if each were tried.
    assert not spells("a" * 19 + "b", ("aaaaaaaa",) * 12)
    assert not spells("a" * 40 + "b", ("aaaaaaaa",) * 20)
