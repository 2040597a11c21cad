import time

import pytest

from querymill_shared.contracts.events import Done, Failed, Hits
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_workers.dispatch import journey
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.unit.flows.conftest import World, report

SHIPS = report("a1", "the fleet has nine ships", "revenue rose to forty million")
SOUP = report("b2", "tomato soup sells well", "revenue of the soup kitchen", company="Borough")


def search(query: str = "revenue rose", **fields: object) -> ReportSearch:
    return ReportSearch.model_validate({"query": query, "collection": "filings", "return_parent_pages": True} | fields)


def found(world: World, job_id: str) -> ReportResult:
    result = world.result(job_id)
    assert isinstance(result, ReportResult)
    return result


def test_a_question_finds_the_page_that_answers_it(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search()))
    assert (result.results[0].document, result.results[0].page) == ("a1", 2)
    assert result.complete
    assert result.total == 4
    assert result.results[0].text == "revenue rose to forty million"


def test_a_score_can_be_recomputed_from_its_explanation(world: World) -> None:
    world.rewriter.replies = {"variant": "<how much did revenue rise>"}
    world.ingest(SHIPS)
    hit = found(world, world.run(search(multi_query=("variant",)))).results[0]
    why = hit.explanation
    assert hit.score == pytest.approx(hit.similarity * 1.2, abs=1e-4)
    assert why["count"] == 2


def test_every_branch_contributes_its_queries(world: World) -> None:
    world.rewriter.replies = {
        "hyde": "| ships | nine |",
        "synonym": "<what did turnover do>",
        "subquestion": "<did revenue rise?> <by how much?>",
        "variant": "<growth of revenue>",
    }
    world.ingest(SHIPS)
    methods = ("synonym", "subquestion", "variant")
    result = found(world, world.run(search(hyde=True, multi_query=methods)))
    assert result.expansion_texts == {
        "hyde": ("| ships | nine |",),
        "synonym": ("what did turnover do",),
        "subquestion": ("did revenue rise?", "by how much?"),
        "variant": ("growth of revenue",),
    }
    assert result.usage == {"provider_calls": 9, "tokens": 46}


def test_a_query_two_branches_propose_is_searched_once(world: World) -> None:
    world.rewriter.replies = {"synonym": "<growth of revenue>", "variant": "<growth  of revenue> <Revenue Rose>"}
    world.ingest(SHIPS)
    world.embeddings.asked.clear()
    result = found(world, world.run(search(multi_query=("synonym", "variant"))))
    assert [text for text, _ in world.embeddings.asked] == ["revenue rose", "growth of revenue"]
    assert result.complete


def test_the_glossary_explains_the_terms_of_the_question(world: World) -> None:
    world.rewriter.replies = {"synonym": "<profit>"}
    world.ingest(SHIPS)
    world.run(search("what is the EBITDA?", multi_query=("synonym",)))
    assert list(world.rewriter.asked[0][1]) == ["EBITDA"]


def test_the_originals_hits_are_told_before_the_chat_model_answers(world: World) -> None:
    world.ingest(SHIPS)
    request = search(hyde=True)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    last = world.board.events(job_id)[-1][1]
    assert isinstance(last, Hits)
    assert last.hits[0].key == "a1/page/2"
    assert last.hits[0].title == "Acme 2022"


@pytest.mark.parametrize("reply", ["nothing wrapped", "<>", "< >", "<revenue rose>"])
def test_a_reply_without_a_new_query_degrades_the_branch_visibly(world: World, reply: str) -> None:
    world.rewriter.replies = {"variant": reply}
    world.ingest(SHIPS)
    result = found(world, world.run(search(multi_query=("variant",))))
    assert not result.complete
    assert [part.stage for part in result.degraded] == ["variant"]
    assert result.results[0].page == 2


def test_a_silent_chat_model_leaves_the_originals_hits(world: World) -> None:
    world.ingest(SHIPS)
    job_id = world.run(search(hyde=True))
    assert found(world, job_id).degraded[0].reason == "chat model: no answer in time"
    assert world.board.events(job_id)[-1][1] == Done(complete=False)


def test_the_chat_model_gets_no_more_time_than_the_deadline_leaves(world: World) -> None:
    world.rewriter.replies = {"hyde": "x"}
    world.ingest(SHIPS)
    started = time.monotonic()
    world.run(search(hyde=True, deadline=1.0))
    caller = world.rewriter.asked[0][2]
    assert caller.expires_at is not None
    assert caller.expires_at < started + 1.0


def test_embedding_away_for_good_fails_the_job_with_its_reason(world: World) -> None:
    world.ingest(SHIPS)
    world.embeddings.fails_with = Refused("embedding refused: dimension 3 where the model has 384")
    job_id = world.run(search())
    picture = world.board.picture(job_id)
    assert picture.record.state == "failed"
    assert "dimension 3" in picture.record.reason
    assert isinstance(world.board.events(job_id)[-1][1], Failed)


def test_an_expansion_with_nothing_left_to_search_does_not_make_a_failed_search_an_empty_success(world: World) -> None:
    world.rewriter.replies = {"synonym": "<turnover>", "variant": "<turnover>"}
    world.ingest(SHIPS)
    request = search(multi_query=("synonym", "variant"))
    job_id = world.submit(request)
    world.embeddings.fails_with = Refused("embedding refused: HTTP 400")
    for step in request.steps:
        world.ring(job_id, request, step)
    record = world.board.picture(job_id).record
    assert record.state == "failed"
    assert "embedding refused" in record.reason


def test_embedding_away_for_a_moment_is_tried_again(world: World) -> None:
    world.ingest(SHIPS)
    request = search()
    job_id = world.submit(request)
    world.embeddings.fails_with = Unavailable("embedding unavailable: no connection")
    world.ring(job_id, request, "original")
    assert not world.board.picture(job_id).record.is_over
    world.embeddings.fails_with = None
    world.ring(job_id, request, "original")
    assert found(world, job_id).stages[0].attempt == 2


def test_embedding_away_until_the_deadline_fails_the_job(world: World) -> None:
    world.ingest(SHIPS)
    world.embeddings.fails_with = Unavailable("embedding unavailable: no connection")
    job_id = world.run(search(deadline=0.2))
    assert world.board.picture(job_id).record.state == "failed"


@pytest.mark.parametrize("hyde", [False, True])
def test_a_store_that_goes_away_before_the_hits_are_shown_fails_the_job_with_its_reason(
    world: World, hyde: bool
) -> None:
    world.ingest(SHIPS)

    def gone(*_: object) -> None:
        raise Unavailable("PostgreSQL: PoolTimeout")

    world.reports.texts = gone  # type: ignore[method-assign, assignment]
    request = search(hyde=hyde)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    if hyde:
        journey.settle_at_deadline(world.board.picture(job_id), world.ports)
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "PostgreSQL: PoolTimeout")


def test_a_given_company_that_is_not_there_has_no_hits_and_says_so(world: World) -> None:
    world.rewriter.replies = {"hyde": "x"}
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search(company="Nobody Ltd", hyde=True)))
    assert result.results == ()
    assert result.routing.documents == 0
    assert "Nobody" in result.routing.reason
    assert world.rewriter.asked == []


def test_the_company_named_in_the_question_is_searched_alone(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search("what is the revenue of Borough?")))
    assert {hit.document for hit in result.results} == {"b2"}


def test_documents_named_in_the_request_are_searched_alone(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search(documents=("b2", "gone"))))
    assert {hit.document for hit in result.results} == {"b2"}
    assert "1 of them not found" in result.routing.reason


def test_another_collection_is_never_seen(world: World) -> None:
    world.ingest(SHIPS)
    world.ingest(SOUP, collection="secret")
    result = found(world, world.run(search("tomato soup")))
    assert {hit.document for hit in result.results} == {"a1"}


def test_reports_of_another_model_are_not_searched(world: World) -> None:
    world.ingest(SHIPS)
    world.embeddings.model = "another"
    assert found(world, world.run(search())).results == ()


def test_a_smaller_top_n_is_the_head_of_a_larger_one(world: World) -> None:
    world.rewriter.replies = {"variant": "<soup>"}
    world.ingest(SHIPS, SOUP)
    long = found(world, world.run(search(multi_query=("variant",), top_n=4))).results
    short = found(world, world.run(search(multi_query=("variant",), top_n=2))).results
    assert [hit.number for hit in short] == [hit.number for hit in long[:2]]


def test_passages_are_returned_when_pages_are_not_asked_for(world: World) -> None:
    world.ingest(SHIPS)
    hit = found(world, world.run(search(return_parent_pages=False))).results[0]
    assert (hit.unit, hit.number, hit.page) == ("chunk", 1, 2)


def test_a_bell_rung_twice_changes_nothing(world: World) -> None:
    world.ingest(SHIPS)
    request = search(hyde=True)
    job_id = world.submit(request)
    for step in ("original", "original", "hyde", "hyde", "original"):
        world.ring(job_id, request, step)
    assert world.board.picture(job_id).record.state == "done"
    assert [type(event) for _, event in world.board.events(job_id)].count(Done) == 1
