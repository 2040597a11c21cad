import time
from collections.abc import Sequence

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.events import Done, Failed, Hits
from querymill_shared.contracts.reports.ingest import IngestReports, Report
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_workers.dispatch import run_step
from querymill_workers.expansion.writing import SEARCH_MARGIN_S
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S, LOOK_EVERY_S, Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports import ingest
from querymill_workers.retrievers.reports.rules.glossary import Glossary, Term
from tests.fixtures.world import World, report

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


def test_a_passage_that_only_words_find_gets_its_inner_product(world: World) -> None:
    pages = [f"soup soup soup {number}" for number in range(20)]
    world.ingest(report("a1", *pages, "nine ships and a long list of other things that the fleet owns and lets"))
    result = found(world, world.run(search("soup ships", top_n=3, candidates=3)))
    (hit,) = (hit for hit in result.results if hit.page == 21)
    assert hit.similarity > 0
    assert hit.explanation["count"] == 1


def test_the_formula_alone_can_be_asked_for(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search(ranking="agreement")))
    assert [hit.score for hit in result.results] == [round(hit.similarity, 4) for hit in result.results]
    assert "words_rank" not in result.results[0].explanation


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


def test_a_term_is_searched_by_the_words_that_state_it_unless_the_request_says_no(world: World) -> None:
    lines = "accounts receivable and total current liabilities"
    world.with_ports(glossary=Glossary({"quick ratio": Term("what is quick over what is due", lines)}))
    world.ingest(report("a1", "receivable 7", "harbours"))
    asked = found(world, world.run(search("the quick ratio")))
    assert [hit.page for hit in asked.results if hit.explanation.get("words_rank")] == [1]
    assert asked.terms == {"quick ratio": lines}
    plain = found(world, world.run(search("the quick ratio", glossary=False)))
    assert [hit.page for hit in plain.results if hit.explanation.get("words_rank")] == []
    assert plain.terms == {}


def test_the_originals_hits_are_told_before_the_chat_model_answers(world: World) -> None:
    world.ingest(SHIPS)
    request = search(hyde=True)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    last = world.board.events(job_id)[-1][1]
    assert isinstance(last, Hits)
    assert last.hits[0].key == "a1/page/2"
    assert (last.hits[0].title, last.hits[0].page) == ("Acme 2022", 2)
    assert last.hits[0].text == "revenue rose to forty million"


def test_a_reply_without_a_new_query_degrades_the_branch_visibly(world: World) -> None:
    world.rewriter.replies = {"variant": "<revenue rose>"}
    world.ingest(SHIPS)
    result = found(world, world.run(search(multi_query=("variant",))))
    assert not result.complete
    assert [part.stage for part in result.degraded] == ["variant"]
    assert result.results[0].page == 2


@pytest.mark.parametrize("reply", ["I'm sorry, but I can't help with that.", "<think>| a | b |</think> Revenue rose."])
def test_a_hypothetical_answer_without_a_table_is_a_failed_branch(world: World, reply: str) -> None:
    world.rewriter.replies = {"hyde": reply}
    world.ingest(SHIPS)
    result = found(world, world.run(search(hyde=True)))
    assert [part.stage for part in result.degraded] == ["hyde"]
    assert result.expansion_texts == {}
    assert result.results[0].explanation["count"] == 1


def test_a_silent_chat_model_leaves_the_originals_hits(world: World) -> None:
    world.ingest(SHIPS)
    job_id = world.run(search(hyde=True))
    assert found(world, job_id).degraded[0].reason == "chat model: no answer in time"
    assert world.board.events(job_id)[-1][1] == Done(complete=False)


def test_a_job_that_ends_while_the_chat_model_writes_is_not_embedded(world: World) -> None:
    world.ingest(SHIPS)
    embedded, passed = len(world.embeddings.asked), [0.0]
    world.with_ports(clock=lambda: time.monotonic() + passed[0])
    request = search(hyde=True)
    job_id = world.submit(request)

    def cancel_and_write(_: str) -> str:
        world.board.settle(job_id, Verdict("cancelled"))
        passed[0] += LOOK_EVERY_S
        return "| forty | million |"

    world.rewriter.replies = {"hyde": cancel_and_write}
    world.ring(job_id, request, "hyde")
    assert len(world.rewriter.asked) == 1
    assert len(world.embeddings.asked) == embedded


def test_the_chat_model_gets_no_more_time_than_the_deadline_leaves(world: World) -> None:
    world.rewriter.replies = {"hyde": "x"}
    world.ingest(SHIPS)
    world.run(search(hyde=True, deadline=30))
    caller = world.rewriter.asked[0][2]
    assert caller.expires_at is not None
    assert caller.expires_at <= time.monotonic() + 30 - SEARCH_MARGIN_S


AWAY = (
    Unavailable("embedding unavailable: no connection"),
    Refused("embedding refused: dimension 3 where the model has 384"),
)


@pytest.mark.parametrize(("error", "pages", "ranking"), [(AWAY[0], True, "hybrid"), (AWAY[1], False, "agreement")])
def test_without_the_embedding_provider_words_answer_and_the_result_says_so(
    world: World, error: Exception, pages: bool, ranking: str
) -> None:
    world.ingest(SHIPS, SOUP)
    by_both = found(world, world.run(search("nine ships", return_parent_pages=pages)))
    world.embeddings.fails_with = error
    job_id = world.run(search("nine ships", return_parent_pages=pages, ranking=ranking))
    result = found(world, job_id)
    assert [(gap.stage, gap.reason) for gap in result.degraded] == [("embed", str(error))]
    assert not result.complete
    best = result.results[0]
    assert (best.document, best.number) == (by_both.results[0].document, by_both.results[0].number)
    assert (best.similarity, best.explanation["vectors_rank"], best.explanation["words_rank"]) == (0.0, None, 1)
    assert best.score == round(1 / 11, 6)
    assert result.total >= len(result.results) > 0
    assert isinstance(world.board.events(job_id)[-1][1], Done)


def test_what_waits_for_a_vector_is_among_the_words_of_a_question_without_one(world: World) -> None:
    store_without_vectors(world, SHIPS)
    world.embeddings.fails_with = AWAY[0]
    result = found(world, world.run(search("nine ships", ranking="agreement")))
    assert result.results
    assert {gap.stage for gap in result.degraded} == {"embed"}
    assert result.degraded[0].reason == str(AWAY[0])
    assert "pending" in result.degraded[1].reason


def test_expansions_without_vectors_search_their_words_too_and_the_reason_is_said_once(world: World) -> None:
    world.rewriter.replies = {"variant": "<tomato soup>"}
    world.ingest(SHIPS, SOUP)
    world.embeddings.fails_with = AWAY[0]
    result = found(world, world.run(search("nine ships", multi_query=("variant",))))
    assert [gap.stage for gap in result.degraded] == ["embed"]
    assert {"a1", "b2"} <= {hit.document for hit in result.results}


def test_the_question_waits_no_longer_for_its_vector_than_the_patience(world: World) -> None:
    world.ingest(SHIPS)
    callers: list[Caller] = []
    embed = world.embeddings.embed

    def noting(texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        callers.append(caller)
        return embed(texts, input_type=input_type, caller=caller)

    world.embeddings.embed = noting  # type: ignore[method-assign]
    before = time.monotonic()
    world.run(search(deadline=30))
    (caller,) = callers
    assert caller.expires_at is not None
    assert before + EMBEDDING_PATIENCE_S <= caller.expires_at <= time.monotonic() + EMBEDDING_PATIENCE_S


def test_with_neither_vectors_nor_a_text_index_the_job_fails_with_the_reason(world: World) -> None:
    world.ingest(SHIPS)
    world.words.fails_with = Refused("the text index was built by another tokeniser version")
    world.embeddings.fails_with = AWAY[1]
    job_id = world.run(search())
    picture = world.board.picture(job_id)
    assert picture.record.state == "failed"
    assert "dimension 3" in picture.record.reason
    assert isinstance(world.board.events(job_id)[-1][1], Failed)


@pytest.mark.parametrize("hyde", [False, True])
def test_a_store_that_is_away_when_the_hits_are_shown_fails_the_job_at_its_deadline_with_the_reason(
    world: World, hyde: bool
) -> None:
    world.ingest(SHIPS)

    def gone(*_: object) -> None:
        raise Unavailable("PostgreSQL: PoolTimeout")

    world.reports.texts = gone  # type: ignore[method-assign, assignment]
    request = search(hyde=hyde)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    assert not world.board.has_ended(job_id)
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    record = world.board.picture(job_id).record
    assert record.state == "failed"
    assert "PostgreSQL: PoolTimeout" in record.reason


def test_a_given_company_that_is_not_there_has_no_hits_and_says_so(world: World) -> None:
    world.rewriter.replies = {"hyde": "x"}
    world.ingest(SHIPS, SOUP)
    result = found(world, world.run(search(company="Nobody Ltd", hyde=True)))
    assert result.results == ()
    assert result.routing.documents == 0
    assert "Nobody" in result.routing.reason
    assert world.rewriter.asked == []


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
    record = world.board.picture(world.run(search())).record
    assert (record.state, "come from words but the workers embed by another" in record.reason) == ("failed", True)


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


def test_a_question_longer_than_the_models_input_says_that_it_was_cut(world: World) -> None:
    world.ingest(SHIPS)
    world.embeddings.max_text_tokens = 3
    result = found(world, world.run(search("the fleet counts nine ships")))
    assert result.results
    cut = ("original", "the query was cut to the model's input of 3 tokens")
    assert [(part.stage, part.reason) for part in result.degraded] == [cut]


def store_without_vectors(world: World, *reports: dict[str, object]) -> None:
    """Ingest reports whose embedding does not begin."""
    for made in reports:
        request = IngestReports(collection="filings", documents=(Report.model_validate(made),))
        claim = world.board.claim(world.submit(request), "ingest")
        assert claim is not None
        ingest.step(claim, request, world.ports)


def test_a_passage_that_waits_for_its_vector_is_found_by_its_words(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    store_without_vectors(world, report("c3", "the ferry of Zanzibar", "its harbour", "its crew"))
    result = found(world, world.run(search("where is Zanzibar", top_n=2)))
    assert [(hit.document, hit.page) for hit in result.results][:1] == [("c3", 1)]
    assert result.results[0].text == "the ferry of Zanzibar"
    assert (result.results[0].similarity, result.results[0].explanation["vectors_rank"]) == (0.0, None)
    assert [(part.stage, part.reason) for part in result.degraded] == [("embed", "3 passages pending")]
    assert not result.complete
    assert result.total == 5


@pytest.mark.parametrize("pages", [True, False])
def test_by_the_formula_alone_what_waits_for_its_vector_keeps_a_place(world: World, pages: bool) -> None:
    world.ingest(SHIPS, SOUP)
    store_without_vectors(world, report("c3", "the ferry of Zanzibar", "its harbour", "its crew"))
    request = search("where is Zanzibar", top_n=2, return_parent_pages=pages, ranking="agreement")
    result = found(world, world.run(request))
    assert [(hit.document, hit.page) for hit in result.results][1:] == [("c3", 1)]
    assert (result.results[1].similarity, result.results[1].explanation["bm25"] > 0) == (0.0, True)


def test_reports_that_are_not_routed_are_neither_searched_by_words_nor_counted(world: World) -> None:
    world.ingest(SHIPS)
    store_without_vectors(world, SOUP)
    result = found(world, world.run(search("tomato soup of Acme")))
    assert result.complete
    assert {hit.document for hit in result.results} == {"a1"}


def test_an_answer_is_written_from_passages_without_a_vector_too(world: World) -> None:
    store_without_vectors(world, SHIPS)
    result = found(world, world.run(search("revenue rose", answer=True)))
    assert result.answer is not None
    assert [part.stage for part in result.degraded] == ["embed"]


def test_a_stale_text_index_is_named(world: World) -> None:
    store_without_vectors(world, SHIPS)
    world.words.fails_with = Refused("the text index was built by another tokeniser version")
    result = found(world, world.run(search("revenue rose")))
    assert [part.stage for part in result.degraded] == ["embed", "words"]


def test_only_reports_that_pass_the_filter_are_searched(world: World) -> None:
    world.ingest(SHIPS | {"type": "10-K"}, SOUP | {"type": "10-Q"})
    store_without_vectors(world, report("c3", "tomato soup of the 10-K") | {"type": "10-K"})
    result = found(world, world.run(search("tomato soup", filter={"type": "10-K"})))
    assert {hit.document for hit in result.results} == {"a1", "c3"}
    assert "; 2 of 3 reports pass the filter" in result.routing.reason
    assert not result.routing.whole_collection
    none = found(world, world.run(search("tomato soup", filter={"company": "Zenith"})))
    assert (none.results, none.routing.documents) == ((), 0)


def test_hits_have_the_metadata_of_their_report_if_it_is_asked_for(world: World) -> None:
    world.ingest(SHIPS | {"type": "10-K"})
    assert found(world, world.run(search(metadata=True))).results[0].metadata == {"type": "10-K"}
    assert found(world, world.run(search())).results[0].metadata is None
