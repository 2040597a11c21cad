import random
from datetime import date
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.routing import ReportCard, Route, route

TODAY = date(2024, 5, 6)


def card(
    sha1: str, company: str, period: str | None, *aliases: str, title: str = "", year: int | None = None
) -> ReportCard:
    return ReportCard(sha1, title, company, aliases, period, None if year is None else date(year, 3, 1))


CARDS = [
    card("a20", "Aurora Foods, Inc.", "FY2020", "ARFD"),
    card("a21", "Aurora Foods", "2021"),
    card("a21q3", "AURORA FOODS", "FY2021 Q3"),
    card("a23", "Aurora Foods", "2023年"),
    card("b21", "Boreal Ltd", "2021"),
    card("b22", "Boreal Ltd", "2022"),
    card("j22", "极光科技有限公司", "2022年报", "极光科技"),
    card("x", "Lumen AG", None, title="Lumen annual report 2019"),
    card("y", "Lumen AG", None, year=2020),
    card("z", "Lumen AG", None),
]


def routed(question: str, *, company: str | None = None, period: str | None = None) -> Route:
    return route(question, CARDS, company=company, period=period, today=TODAY)


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("Aurora Foods' sales in 2021", "a21 a21q3"),
        ("Aurora Foods' sales in Q3 2021", "a21q3"),
        ("Aurora Foods' sales in Q1 2021", "a21 a21q3"),
        ("Aurora Foods' sales in 2022", "a23"),
        ("Aurora Foods' sales in Q2 2022", "a23"),
        ("Aurora Foods' sales in 2015", "a20 a21 a21q3 a23"),
        ("Aurora Foods' sales from 2020 to 2021", "a20 a21 a21q3"),
        ("Aurora Foods' sales over the past two years", "a21 a21q3 a23"),
        ("ARFD's sales", "a20 a21 a21q3 a23"),
        ("去年Aurora Foods的收入", "a23"),
        ("Aurora Foods against Boreal in 2022", "a23 b22"),
        ("极光科技二〇二二年的收入", "j22"),
        ("Lumen in 2019", "x"),
        ("Lumen in 2020", "y"),
        ("sales in 2021", "a21 a21q3 b21"),
        ("sales in Q3 2021", "a21q3"),
    ],
)
def test_company_and_period_of_the_question_choose_the_documents(question: str, documents: str) -> None:
    chosen = routed(question)
    assert chosen.documents == tuple(documents.split())
    assert not chosen.whole_collection


@pytest.mark.parametrize("question", ["Who audits the accounts?", "sales in 1995", "谁是审计师？"])
def test_a_question_that_names_nothing_we_have_is_about_the_whole_collection(question: str) -> None:
    chosen = routed(question)
    assert chosen.documents == tuple(sorted(card.sha1 for card in CARDS))
    assert chosen.whole_collection
    assert chosen.companies == ()


def test_a_given_company_goes_before_the_one_in_the_question() -> None:
    chosen = routed("How does Boreal compare in 2021?", company="aurora foods inc")
    assert chosen.documents == ("a21", "a21q3")
    assert chosen.reason == "company given; AURORA FOODS: reports of 2021"


@pytest.mark.parametrize("company", ["Zephyr", "", "Aurora"])
def test_a_given_company_we_do_not_have_gives_no_documents_and_says_so(company: str) -> None:
    chosen = routed("Boreal in 2021", company=company)
    reason, missing = f"the collection has no report of {company}", (f"no report of {company}",)
    assert chosen == Route((), (), "2021", reason, whole_collection=False, missing=missing)


def test_a_given_period_goes_before_the_one_in_the_question() -> None:
    assert routed("Boreal in 2021", period="FY22").documents == ("b22",)


def test_a_given_period_that_is_none_is_said_to_be_none() -> None:
    chosen = routed("Boreal in 2021", period="soon")
    assert chosen.documents == ("b21", "b22")
    assert chosen.reason.endswith("'soon' names no period")


def test_the_reason_says_for_each_company_which_reports_were_taken() -> None:
    chosen = routed("Aurora Foods and Boreal and Lumen in Q3 2022")
    assert chosen.companies == ("AURORA FOODS", "Boreal Ltd", "Lumen AG")
    assert chosen.period == "2022 Q3"
    assert chosen.reason == (
        "company named in the question; AURORA FOODS: reports of 2023 (there is none of 2022 Q3); "
        "Boreal Ltd: reports of 2022 (there is none of 2022 Q3); Lumen AG: all reports, there is none of 2022 Q3"
    )


def test_the_reason_for_the_whole_collection_names_what_was_missing() -> None:
    assert routed("sales?").reason == "no company of the collection named; all reports, no period named"
    assert routed("sales in 1995?").reason.endswith("all reports, there is none of 1995")


def test_an_empty_collection_gives_no_documents() -> None:
    assert route("Aurora in 2022", [], today=TODAY).documents == ()


@given(st.permutations(CARDS), st.sampled_from(["Aurora Foods Q3 2021", "Boreal and Lumen", "2021", "?"]))
def test_the_order_of_the_cards_changes_nothing(cards: list[ReportCard], question: str) -> None:
    assert route(question, cards + cards[:2], today=TODAY).documents == routed(question).documents
    assert route(question, cards, today=TODAY) == routed(question)


def test_ten_thousand_companies_are_looked_through_in_a_moment() -> None:
    chance = random.Random(7)
    syllables = ["ka", "lo", "mi", "ren", "sta", "vor", "tel", "bru", "qui", "zan"]

    def name() -> str:
        return "".join(chance.choices(syllables, k=4)).title()

    cards = [
        card(f"{number:05}", f"{name()} {name()}, Inc.", str(2014 + number % 10), name()) for number in range(10_000)
    ]
    started = process_time()
    chosen = route(f"What did {cards[77].company} earn in {cards[77].period}?", cards, today=TODAY)
    assert process_time() - started < 1
    assert "00077" in chosen.documents


def test_a_report_of_no_company_is_searched_unless_a_company_is_named() -> None:
    cards = [
        card("a", "Aurora Foods", "2021"), ReportCard("n1", "Tide tables", None, ("TIDE",), "2021", None),
        ReportCard("n2", "Moss", None, (), None, None),
    ]  # fmt: skip

    def chosen(question: str, company: str | None = None) -> tuple[str, ...]:
        return route(question, cards, company=company, today=TODAY).documents

    assert chosen("how high is the tide") == ("a", "n1", "n2")
    assert chosen("the harbour in 2021") == ("a", "n1")
    assert chosen("TIDE in 2021") == ("a", "n1")
    assert chosen("sales of Aurora Foods") == ("a",)
    assert chosen("sales", "Moss") == ()


def test_a_report_that_has_come_or_changed_since_is_routed_at_once() -> None:
    def chosen(*cards: ReportCard) -> tuple[str, ...]:
        return route("Boreal's sales in 2021", cards, today=TODAY).documents

    assert chosen(card("b", "Boreal Ltd", "2020"), card("c", "Boreal Ltd", "2021")) == ("c",)
    assert chosen(card("b", "Boreal Ltd", "2021"), card("c", "Boreal Ltd", "2021")) == ("b", "c")
    assert chosen(card("b", "Boreal Ltd", "2021")) == ("b",)
