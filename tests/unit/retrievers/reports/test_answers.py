"""Answers as further steps of a search of reports."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.events import AnswerPart, Done, Hits, Queued, StageStarted
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.faults import CallFailed, Refused
from tests.fixtures.world import World, report
from tests.unit.retrievers.reports.test_search import SHIPS, SOUP, found, search, store_without_vectors


def asking(query: str = "revenue rose", **fields: object) -> ReportSearch:
    return search(query, answer=True, **fields)


def test_the_hits_are_answered_from_and_cited_by_their_place(world: World) -> None:
    world.ingest(SHIPS, SOUP)
    world.answers.reply = lambda: ["Revenue rose to forty million [1][9]."]
    result = found(world, world.run(asking()))
    assert result.answer is not None
    assert result.answer.text == "Revenue rose to forty million [1]."
    (citation,) = result.answer.citations
    assert (citation.id, citation.page, citation.title) == ("a1/page/2", 2, "Acme 2022")
    assert (result.results[0].document, result.results[0].page) == ("a1", 2)
    assert result.answer.removed_citations == (9,)
    labels = [f"{hit.title}, {hit.company}, {hit.period}, page {hit.page}" for hit in result.results]
    shown = [f"{label}\n{hit.text}" for label, hit in zip(labels, result.results, strict=True)]
    assert world.answers.asked[0][1] == shown
    assert result.complete


def test_a_page_that_waits_for_its_vector_is_cut_around_what_its_words_found(world: World) -> None:
    lines = [f"line {number} of the harbour and its many cranes, tugs, buoys and docks" for number in range(300)]
    store_without_vectors(world, report("c3", "\n".join([*lines, "the ferry of Zanzibar", *lines])))
    result = found(world, world.run(asking("where is Zanzibar", ranking="agreement", passage_tokens=600)))
    assert result.results[0].explanation["bm25"] > 0
    assert "the ferry of Zanzibar" in world.answers.asked[0][1][0]


def test_the_hits_are_told_before_the_answer_begins(world: World) -> None:
    world.ingest(SHIPS)
    job_id = world.run(asking(judge=True))
    events = [event for _, event in world.board.events(job_id)]
    assert events[0] == Queued(stages=("original",))
    told = next(place for place, event in enumerate(events) if isinstance(event, Hits))
    begun = events.index(StageStarted(stage="answer", attempt=1))
    written = next(place for place, event in enumerate(events) if isinstance(event, AnswerPart))
    assert told < begun < written < events.index(StageStarted(stage="judge", attempt=1)) < len(events) - 1
    assert events[-1] == Done(complete=True)
    assert sum(isinstance(event, Hits) for event in events) == 1
    assert world.answers.judged[0][0] == world.answers.asked[0][1]


def test_the_answer_waits_for_every_branch(world: World) -> None:
    world.rewriter.replies = {"variant": "<soup>"}
    world.ingest(SHIPS, SOUP)
    request = asking(multi_query=("variant",))
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    assert world.answers.asked == []
    world.ring(job_id, request, "variant")
    result = found(world, job_id)
    assert result.answer is not None
    assert [stage.name for stage in result.stages] == ["original", "variant", "answer"]


def test_a_failed_branch_does_not_keep_the_answer_away(world: World) -> None:
    world.ingest(SHIPS)
    result = found(world, world.run(asking(hyde=True)))
    assert result.answer is not None
    assert [part.stage for part in result.degraded] == ["hyde"]


def test_a_job_without_an_answer_takes_no_step_more(world: World) -> None:
    world.ingest(SHIPS)
    job_id = world.run(search())
    assert [step.name for step in world.board.picture(job_id).steps] == ["original"]
    assert found(world, job_id).answer is None
    assert [type(event).__name__ for _, event in world.board.events(job_id)] == [
        "Queued", "StageStarted", "StageFinished", "Done",
    ]  # fmt: skip


@pytest.mark.parametrize("error", [CallFailed("chat model: the reply broke off"), Refused("chat model refused")])
def test_without_an_answer_the_hits_are_quoted(world: World, error: Exception) -> None:
    world.ingest(SHIPS)
    world.answers.reply = lambda: [error]
    request = asking(judge=True)
    job_id = world.run(request)
    while not world.board.picture(job_id).record.is_over:
        world.ring(job_id, request, "answer")
    result = found(world, job_id)
    assert result.answer is not None
    assert result.answer.quoted
    assert result.answer.citations[0].page == result.results[0].page == 2
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("write", f"the answer is a quotation: {error}"),
        ("judge", "a quotation is not judged: it says what the hits say"),
    ]


def test_without_a_hit_nobody_is_asked(world: World) -> None:
    world.ingest(SHIPS)
    result = found(world, world.run(asking(company="Nobody Ltd")))
    assert (result.results, world.answers.asked) == ((), [])
    degraded = [("route", "no report of Nobody Ltd"), ("answer", "there is no hit to answer from")]
    assert [(part.stage, part.reason) for part in result.degraded] == degraded


def test_at_the_deadline_the_hits_come_without_their_answer(world: World) -> None:
    world.ingest(SHIPS)
    request = asking()
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "original")
    assert claim is not None
    assert [bell.step for bell in run_step.flow_of(claim.request).step(claim, world.ports)] == ["answer"]
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    result = found(world, job_id)
    assert result.results
    assert [(part.stage, part.reason) for part in result.degraded] == [("answer", "cut by the deadline")]


def test_times_of_the_branches_do_not_count_the_answer(world: World) -> None:
    world.ingest(SHIPS)
    timing = found(world, world.run(asking(judge=True))).timing
    assert set(timing) == {"queued_ms", "first_branch_ms", "last_branch_ms", "answer_ms", "judge_ms"}
    assert timing["last_branch_ms"] <= timing["answer_ms"] <= timing["judge_ms"]


def test_bells_rung_twice_change_nothing(world: World) -> None:
    world.ingest(SHIPS)
    request = asking(judge=True)
    job_id = world.run(request)
    for step in ("answer", "judge", "original"):
        world.ring(job_id, request, step)
    assert len(world.answers.asked) == len(world.answers.judged) == 1
    assert [type(event) for _, event in world.board.events(job_id)].count(Done) == 1


def test_a_judgement_without_an_answer_is_refused() -> None:
    with pytest.raises(ValidationError, match="judge: needs answer"):
        search(judge=True)
