"""Why a page is not among the hits: the gate, its numbers, and a lever that holds when it is pulled."""

from functools import partial
from typing import Any

import pytest

from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.reports.rules.absence import (
    GATES,
    PassageStanding,
    ordinal,
    read_wanted,
    say_behind,
    standing,
)
from querymill_workers.retrievers.reports.search import why_not
from tests.fixtures.absences import explained, failed
from tests.fixtures.world import World, report

NOISE = ("harbour", "cargo", "crew", "engine", "fuel", "route", "storm", "dock", "crane", "tug", "buoy", "chart")
#: Twelve pages of other words, each further from the question.
PAGES = [" ".join(["revenue rose", *(f"{NOISE[n]}{number}" for number in range(3 * n))]) for n in range(12)]


@pytest.fixture
def filings(world: World) -> World:
    """A report of twelve pages, each further from the question; its twin of another year; one of another company."""
    world.ingest(
        report("a1", *PAGES),
        report("b2", "revenue rose twice", "nothing of it", period="2021"),
        report("c3", "tomato soup", "revenue rose", company="Borough"),
    )
    return world


def ask(world: World, **fields: Any) -> ReportResult:
    asked = {"query": "revenue rose", "collection": "filings", "return_parent_pages": True} | fields
    result = world.result(world.run(ReportSearch.model_validate(asked)))
    assert isinstance(result, ReportResult)
    return result


def explain(world: World, wanted: str, **fields: Any) -> Absence:
    return explained(
        partial(ask, world),
        GATES,
        lambda hit: [hit.document, f"{hit.document}/{hit.unit}/{hit.number}"],
        wanted,
        **fields,
    )


def test_a_hit_has_passed_every_gate_and_the_step_is_on_the_waterfall(filings: World) -> None:
    absence = explain(filings, "a1")
    assert (absence.place, {gate.outcome for gate in absence.gates}) == (1, {"passed"})
    assert [stage.name for stage in ask(filings, why_not="a1").stages] == ["original", "why-not"]


@pytest.mark.parametrize(
    ("wanted", "fields", "gate"),
    [
        ("zz", {}, "collection"),
        ("a1/page/99", {}, "collection"),
        ("a1", {"filter": {"period": "2021"}}, "filter"),
        ("c3", {"company": "Acme"}, "routing"),
        ("c3", {"documents": ["a1"]}, "routing"),
    ],
)
def test_the_first_gate_that_a_report_did_not_pass_is_named(
    filings: World, wanted: str, fields: dict[str, Any], gate: str
) -> None:
    assert failed(explain(filings, wanted, **fields)) == gate


def test_a_filter_names_the_condition_that_fails(filings: World) -> None:
    absence = explain(filings, "a1", filter={"period": "2021", "company": "Acme"})
    assert absence.failed is not None
    assert absence.failed.said == "its report does not pass: period"


def test_behind_the_candidates_the_inner_products_are_said(filings: World) -> None:
    absence = explain(filings, "a1/page/12", documents=["a1"], ranking="agreement", candidates=3, top_n=3)
    assert failed(absence) == "candidates"
    assert absence.failed is not None
    assert absence.failed.said.startswith("its best passage is 9th of its report, 3 are taken (0.")
    assert absence.lever is not None
    assert absence.lever.fields == {"candidates": 9, "top_n": 9}


def test_behind_more_passages_than_are_compared_it_fails_at_the_candidates(
    filings: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why_not, "DEEPEST", 3)
    absence = explain(filings, "a1/page/12", documents=["a1"], ranking="agreement", candidates=1, top_n=1)
    assert failed(absence) == "candidates"
    assert absence.failed is not None
    assert absence.failed.said == "its best passage is not among the best 3"


@pytest.mark.parametrize("ranking", ["hybrid", "agreement"])
@pytest.mark.parametrize("candidates", [3, 20])
def test_behind_the_list_its_place_and_the_longer_list_are_said(filings: World, ranking: str, candidates: int) -> None:
    last = ask(filings, ranking=ranking, candidates=candidates, top_n=3).results[-1]
    absence = explain(filings, f"{last.document}/page/{last.page}", ranking=ranking, candidates=candidates, top_n=2)
    assert failed(absence) == "top_n"
    assert absence.lever is not None


def test_every_lever_of_every_page_holds(filings: World) -> None:
    for page in range(1, 13):
        explain(filings, f"a1/page/{page}", candidates=4, top_n=2)


def test_a_near_duplicate_stands_for_it(world: World) -> None:
    text = " ".join(["revenue rose", *NOISE])
    world.ingest(report("a1", text), report("b2", text, period="2021"))
    hit = ask(world).results[0]
    absence = explain(world, {"a1": "b2", "b2": "a1"}[hit.document])
    assert (failed(absence), absence.failed and absence.failed.said) == (
        "fusion",
        "its text is nearly that of hit 1, which stands for it",
    )


def test_where_a_judge_orders_the_hits_no_lever_is_guessed(filings: World) -> None:
    absence = explain(filings, "a1/page/12", rerank=True, top_n=1)
    assert (failed(absence), absence.lever) == ("rerank", None)


def test_expansions_count_and_are_not_written_again(filings: World) -> None:
    filings.rewriter.replies = {"variant": "<tomato soup>"}
    absence = explain(filings, "c3", multi_query=("variant",), company="Borough")
    assert absence.place is not None
    asked = len(filings.rewriter.asked)
    explain(filings, "a1", multi_query=("variant",), company="Borough")
    assert len(filings.rewriter.asked) <= asked + 3  # one for each search


def test_without_a_vector_the_words_explain(filings: World) -> None:
    filings.embeddings.fails_with = Unavailable("away")
    assert failed(explain(filings, "a1/page/12", top_n=1)) == "top_n"
    absence = explain(filings, "c3/page/1", company="Borough")
    assert absence.failed is not None
    assert absence.failed.said == "the question got no vector in time, and by words others came first"


def test_a_search_that_fails_explains_nothing(filings: World) -> None:
    result = ask(filings, why_not="a1", query="revenue rose", documents=["nowhere"])
    assert result.why_not is not None
    assert failed(result.why_not) == "routing"


def test_the_numbers_of_the_candidates() -> None:
    keys = [read_wanted(f"a/page/{number}").key for number in (1, 2, 3)]
    products = [(key, value) for key, value in zip(keys, (0.9, 0.8, 0.7), strict=True) if key is not None]
    found = standing(products, read_wanted("a/page/3"), taken=2)
    assert found == PassageStanding(3, 0.7, 0.8)
    assert say_behind(found, taken=2, one_by_one=True) == (
        "its best passage is 3rd of its report, 2 are taken (0.700; the last one taken 0.800)"
    )
    assert [ordinal(number) for number in (1, 11, 22, 113)] == ["1st", "11th", "22nd", "113th"]
