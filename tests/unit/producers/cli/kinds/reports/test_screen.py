"""The screen of reports: scores that can be computed again, and what is missing."""

from querymill.cli.kinds.reports import KIND
from querymill_shared.contracts.reports.search import ReportHit, ReportResult, Routing
from tests.fixtures.screens import shown

EXPLAINED = {
    "max_inner_product": 0.8, "inner_factor": 2.0, "agreement_factor": 1.2, "agreement": 0.2, "count": 2,
    "queries": ["what  was\nthe revenue?", "sales"],
}  # fmt: skip
HIT = ReportHit(
    document="a1", unit="page", number=3, page=3, title="Annual report", company="Nordhav", period="2022",
    text="The  revenue\nrose.", score=1.92, similarity=0.8, explanation=EXPLAINED,
)  # fmt: skip
RESULT = ReportResult(
    job_id="j", total=7, complete=True, query="q", collection="c", results=(HIT, HIT),
    routing=Routing(documents=1, reason="company named in the question"),
    timing={"queued_ms": 4.0}, usage={"provider_calls": 1200},
)  # fmt: skip


def test_a_score_is_shown_as_the_product_that_it_is() -> None:
    lines = shown(KIND, RESULT).splitlines()
    assert lines[0] == " 1  1.9200  Annual report, page 3"
    formula = "1.9200 = 2 × 0.8000 similarity × (1 + 0.2 × 1)"
    assert lines[1] == "      The revenue rose."
    assert lines[2] == f"      {formula}   (2 of the queries found it: what was the revenue?; sales)"
    assert lines[-2:] == [
        "  searched: company named in the question", "  7 hits in all · queued 4 ms · 1,200 provider calls"
    ]  # fmt: skip


def test_what_is_shown_of_a_long_page_is_where_the_words_of_the_question_stand() -> None:
    page = f"{'Ships are a matter of taste. ' * 40}The margin was 9.1 %. {'Nothing else of note. ' * 40}"
    hit = HIT.model_copy(update={"text": page})
    printed = shown(KIND, RESULT.model_copy(update={"query": "what was the margin", "results": (hit,)}))
    assert "      … The margin was 9.1 %. Nothing else of note." in printed


def test_factors_of_one_are_left_out() -> None:
    plain = EXPLAINED | {"inner_factor": 1.0, "agreement_factor": 1.0, "count": 1, "queries": ["q"]}
    result = RESULT.model_copy(update={"results": (HIT.model_copy(update={"explanation": plain, "score": 0.8}),)})
    assert "0.8000 = 0.8000 similarity   (one query found it: q)" in shown(KIND, result)


def test_no_hits_are_said_to_be_none() -> None:
    assert "  no hits\n" in shown(KIND, RESULT.model_copy(update={"results": ()}))
