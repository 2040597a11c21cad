"""Questions that compare companies or periods, and what there is no report of."""

from querymill_shared.contracts.reports.search import ReportResult
from tests.fixtures.world import World, report
from tests.unit.retrievers.reports.test_search import found, search

RULES = "we keep to the rules of the exchange, of the court and of all the other houses that bind our staff in any land"


def aurora(year: int, *pages: str) -> dict[str, object]:
    return report(f"a{year}", *pages, company="Aurora Foods", period=str(year))


def boreal(year: int, *pages: str) -> dict[str, object]:
    return report(f"b{year}", *pages, company="Boreal Data", period=str(year))


def asked(world: World, query: str, **fields: object) -> ReportResult:
    return found(world, world.run(search(query, **fields)))


def test_companies_share_the_hits_in_turn(world: World) -> None:
    many = [f"capital expenditure of Aurora, part {number} of the capital expenditure" for number in range(8)]
    world.ingest(aurora(2022, *many), boreal(2022, "cash was spent on capital goods"))
    result = asked(world, "Compare the capital expenditure of Aurora Foods and Boreal Data in 2022", top_n=4)
    assert {hit.company for hit in result.results[:2]} == {"Aurora Foods", "Boreal Data"}
    assert result.complete


def test_a_named_period_without_a_report_is_said(world: World) -> None:
    world.ingest(aurora(2022, "revenue was 12 million"))
    result = asked(world, "revenue of Aurora Foods in 2019 and 2022")
    assert [(part.stage, part.reason) for part in result.degraded] == [("route", "Aurora Foods: no report of 2019")]
    other = asked(world, "revenue of Aurora Foods in 2021")
    assert [part.reason for part in other.degraded] == ["Aurora Foods: no report of 2021, reports of 2022 instead"]


def test_a_company_that_no_report_has_is_said(world: World) -> None:
    world.ingest(aurora(2022, "revenue was 12 million"))
    result = asked(world, "What was the revenue of Zenith Motors in 2022?")
    assert [(part.stage, part.reason) for part in result.degraded] == [("route", "no report of Zenith Motors")]
    assert not result.complete
    both = asked(world, "revenue of Aurora Foods and Zenith Motors in 2022")
    assert both.routing.companies == ("Aurora Foods",)
    assert [part.reason for part in both.degraded] == ["no report of Zenith Motors"]


def test_a_name_that_some_passage_has_is_no_company(world: World) -> None:
    world.ingest(aurora(2022, "the brand Kestrel sold well"))
    assert asked(world, "What were the sales of Kestrel in 2022?").complete


def test_a_sub_question_is_searched_in_the_reports_that_it_names(world: World) -> None:
    world.rewriter.replies = {"subquestion": "<revenue of Aurora Foods in 2021> <revenue of Boreal Data in 2021>"}
    world.ingest(aurora(2021, "revenue was 11 million"), boreal(2021, "revenue was 31 million"))
    result = asked(world, "Aurora Foods or Boreal Data: who had more revenue in 2021?", multi_query=("subquestion",))
    for hit in result.results:
        other = "Boreal" if hit.company == "Aurora Foods" else "Aurora"
        assert not any(query.startswith(f"revenue of {other}") for query in hit.explanation["queries"])


def test_a_page_that_reports_repeat_counts_once(world: World) -> None:
    world.ingest(aurora(2021, f"{RULES}", "a"), aurora(2022, f"{RULES}", "b"))
    result = asked(world, "the rules of the exchange that bind Aurora Foods")
    rules = [hit for hit in result.results if hit.text == RULES]
    assert len(rules) == 1
    assert len(rules[0].explanation["duplicates"]) == 1


def test_a_ticker_of_the_cover_names_its_company(world: World) -> None:
    world.ingest(aurora(2022, "Aurora Foods (NYSE: ARFD)", "revenue"), boreal(2022, "revenue"))
    assert asked(world, "What was the revenue of ARFD?").routing.companies == ("Aurora Foods",)


def test_a_page_in_the_prompt_is_cut_around_what_matched(world: World) -> None:
    filler = "\n\n".join(f"Paragraph {number} tells of soup and of bread in many words." for number in range(400))
    world.ingest(aurora(2022, f"{filler}\n\nThe Zanzibar ferry earned 17.3 million."))
    result = asked(world, "What did the Zanzibar ferry earn?", answer=True, passage_tokens=300)
    (passage,) = world.answers.asked[0][1]
    assert passage.startswith("Aurora Foods 2022, Aurora Foods, 2022, page 1\n[")
    assert passage.endswith("17.3 million.")
    assert [part.stage for part in result.degraded] == ["answer"]
    assert "in part" in result.degraded[0].reason
