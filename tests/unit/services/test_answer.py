from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import Verdict
from querymill_shared.contracts.answer import AnswerQuestion, AnswerResult, WrittenAnswer
from querymill_shared.contracts.events import AnswerPart, Done, StageFinished
from querymill_shared.queues import Queue
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.inference.answer_ports import AnswerScores
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.services import stream, writing
from querymill_workers.services.quoting import NOTHING_NEAR
from tests.fixtures.world import World

HITS = [
    {"id": "a/1", "text": "the fleet counts nine ships", "title": "Fleet", "page": 3, "score": 0.9},
    {"id": 7, "text": "revenue rose to forty million"},
]


def asked(query: str = "how many ships?", hits: Sequence[dict[str, Any]] = HITS, **fields: Any) -> AnswerQuestion:
    return AnswerQuestion.model_validate({"query": query, "collection": "default", "hits": hits} | fields)


def answered(world: World, job_id: str) -> AnswerResult:
    result = world.result(job_id)
    assert isinstance(result, AnswerResult)
    return result


def answer_of(world: World, job_id: str) -> WrittenAnswer:
    answer = answered(world, job_id).answer
    assert answer is not None
    return answer


def parts(world: World, job_id: str) -> list[AnswerPart]:
    return [event for _, event in world.board.events(job_id) if isinstance(event, AnswerPart)]


def as_read(events: Sequence[AnswerPart]) -> str:
    """What a reader has who follows the rule of the events."""
    text = ""
    for part in events:
        text = text[: part.offset] + part.text
    return text


def test_an_answer_cites_hits_by_their_place(world: World) -> None:
    world.answers.reply = lambda: ["Nine", " ships [1]", ", and revenue rose [2]."]
    result = answered(world, world.run(asked()))
    assert result.answer is not None
    assert result.answer.text == "Nine ships [1], and revenue rose [2]."
    cited = [(citation.number, citation.id, citation.page, citation.title) for citation in result.answer.citations]
    assert cited == [(1, "a/1", 3, "Fleet"), (2, 7, None, None)]
    assert (result.answer.language, result.answer.passages, result.answer.judgement) == ("en", 2, None)
    assert (result.complete, result.degraded, result.total) == (True, (), 2)
    assert [(hit.id, hit.score) for hit in result.results] == [("a/1", 0.9), (7, None)]
    assert result.usage == {"provider_calls": 1, "tokens": 20}


def test_citations_of_hits_there_are_not_are_taken_out_and_reported(world: World) -> None:
    world.answers.reply = lambda: ["Nine ships [", "9", "] [1, 3]."]
    job_id = world.run(asked())
    answer = answer_of(world, job_id)
    assert (answer.text, answer.removed_citations) == ("Nine ships [1].", (9, 3))
    assert [citation.number for citation in answer.citations] == [1]
    assert "9" not in "".join(part.text for part in parts(world, job_id))


def test_the_parts_told_make_up_the_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "TELL_EVERY_S", 0.0)
    world.answers.reply = lambda: ["Nine ", "ships", " [1]", ". Revenue", " rose."]
    job_id = world.run(asked())
    told = parts(world, job_id)
    assert [(part.offset, part.text) for part in told] == [
        (0, "Nine"),
        (4, " ships"),
        (10, " [1]. Revenue"),
        (23, " rose."),
    ]
    assert as_read(told) == answer_of(world, job_id).text
    assert {(part.stage, part.attempt) for part in told} == {("answer", 1)}


def test_a_long_answer_does_not_push_its_own_beginning_off_the_board(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TELL_EVERY_S", 0.0)
    world.answers.reply = lambda: ["word "] * 4000
    assert len(parts(world, world.run(asked()))) < 700


def test_a_question_in_chinese_is_answered_in_chinese(world: World) -> None:
    assert answer_of(world, world.run(asked("有多少艘船？"))).language == "zh"
    assert world.answers.asked[0][2] == "zh"


def test_the_model_gets_the_question_whole_and_passages_within_their_budget(world: World) -> None:
    question = "how many ships? " * 400
    hits = [{"id": n, "text": "字" * 3000} for n in range(20)]
    answer = answer_of(world, world.run(asked(question, hits, passage_tokens=1000, answer_tokens=77)))
    told, passages, _, max_tokens, _ = world.answers.asked[0]
    assert told == question
    assert answer.passages == len(passages) == 10
    assert sum(map(len, passages)) <= 1100
    assert max_tokens == 77


def test_the_workers_settings_give_the_budget_where_the_request_does_not(world: World) -> None:
    world.answers.passage_tokens = 300
    hits = [{"id": n, "text": "字" * 3000} for n in range(20)]
    assert answer_of(world, world.run(asked(hits=hits))).passages == 3


def test_a_citation_of_a_hit_the_model_was_not_shown_is_taken_out(world: World) -> None:
    world.answers.reply = lambda: ["So [1][2]."]
    answer = answer_of(world, world.run(asked(passage_tokens=100)))
    assert (answer.passages, answer.text, answer.removed_citations) == (1, "So [1].", (2,))


def test_saying_that_the_passages_hold_no_answer_is_an_answer(world: World) -> None:
    world.answers.reply = lambda: ["The passages do not answer this question."]
    result = answered(world, world.run(asked(judge=True)))
    assert result.answer is not None
    assert (result.answer.citations, result.complete) == ((), True)


def test_a_judgement_follows_when_it_is_asked_for(world: World) -> None:
    world.answers.reply = lambda: ["Nine ships [1]. They are fast."]
    world.answers.judgement = AnswerScores(0.5, 1.0, 0.25, (2, 2))
    result = answered(world, world.run(asked(judge=True)))
    assert result.answer is not None
    judgement = result.answer.judgement
    assert judgement is not None
    assert (judgement.grounded, judgement.relevant, judgement.complete) == (0.5, 1.0, 0.25)
    assert judgement.unsupported == ("They are fast.",)
    assert [stage.name for stage in result.stages] == ["answer", "judge"]
    assert world.answers.judged[0][1] == ["Nine ships [1].", "They are fast."]
    assert result.usage == {"provider_calls": 2, "tokens": 30}
    assert set(result.timing) == {"queued_ms", "answer_ms", "judge_ms"}


@pytest.mark.parametrize("numbers", [(0,), (3,), (-1, 99)])
def test_a_sentence_that_the_answer_does_not_have_is_dropped(world: World, numbers: tuple[int, ...]) -> None:
    world.answers.reply = lambda: ["One. Two."]
    world.answers.judgement = AnswerScores(0.5, 0.5, 0.5, numbers)
    judgement = answer_of(world, world.run(asked(judge=True))).judgement
    assert judgement is not None
    assert judgement.unsupported == ()


def test_a_judge_that_fails_leaves_the_answer_and_says_so(world: World) -> None:
    world.answers.judgement = Refused("chat model: not the structure asked for, twice")
    result = answered(world, world.run(asked(judge=True)))
    assert result.answer is not None
    assert result.answer.judgement is None
    assert not result.complete
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("judge", "chat model: not the structure asked for, twice")
    ]


def test_where_the_chat_model_fails_a_quotation_stands_in(world: World) -> None:
    world.answers.reply = lambda: ["Nine sh", Refused("chat model refused: HTTP 401", code="provider_refused")]
    job_id = world.run(asked(judge=True))
    result = answered(world, job_id)
    assert result.answer is not None
    assert (result.answer.text, result.answer.quoted) == ("the fleet counts nine ships [1]", True)
    assert [(citation.number, citation.id) for citation in result.answer.citations] == [(1, "a/1")]
    assert as_read(parts(world, job_id)) == result.answer.text
    assert (result.complete, len(result.results)) == (False, 2)
    assert [(part.stage, part.reason, part.code) for part in result.degraded] == [
        ("write", "the answer is a quotation: chat model refused: HTTP 401", "provider_refused"),
        ("judge", "a quotation is not judged: it says what the hits say", None),
    ]
    assert world.board.events(job_id)[-1][1] == Done(complete=False)
    assert world.answers.judged == []


def test_a_chat_model_that_is_away_is_asked_once_more_before_the_hits_are_quoted(world: World) -> None:
    away: list[str | Exception] = [Unavailable("chat model: HTTP 503")]
    world.answers.reply = lambda: away
    request = asked()
    job_id = world.run(request)
    assert not world.board.picture(job_id).record.is_over
    world.ring(job_id, request, "answer")
    assert len(world.answers.asked) == 2
    assert answer_of(world, job_id).quoted
    assert answered(world, job_id).degraded[0].code == "provider_down"


def test_without_a_chat_model_that_writes_nothing_is_missing(world: World) -> None:
    world.answers.writes = False
    result = answered(world, world.run(asked()))
    assert result.answer is not None
    assert (result.answer.text, result.answer.quoted) == ("the fleet counts nine ships [1]", True)
    assert (result.complete, world.answers.asked) == (True, [])


def test_a_quotation_says_what_a_late_question_means(world: World) -> None:
    world.answers.writes = False
    hits = [
        {"id": 1, "text": "Revenue of Nordhav was forty million in 2022. It was thirty million in 2021. Rain fell."}
    ]
    before = [{"role": "user", "text": "What was the revenue of Nordhav in 2022?"}]
    late = answer_of(world, world.run(asked("and in 2021?", hits=hits, history=before)))
    assert "thirty million in 2021" in late.text


@pytest.mark.parametrize(
    ("query", "said"),
    [("who is the king of Spain?", NOTHING_NEAR["en"]), ("谁是西班牙国王？", NOTHING_NEAR["zh"])],
)
def test_a_quotation_says_so_where_nothing_is_near(world: World, query: str, said: str) -> None:
    world.answers.writes = False
    answer = answer_of(world, world.run(asked(query)))
    assert (answer.text, answer.citations, answer.quoted) == (said, (), True)


@pytest.mark.parametrize("reply", ["[9]", " [7] [8] "])
def test_an_answer_of_wrong_citations_alone_is_quoted_instead(world: World, reply: str) -> None:
    world.answers.reply = lambda: [reply]
    result = answered(world, world.run(asked()))
    assert result.answer is not None
    assert result.answer.quoted
    assert "cited only passages that do not exist" in result.degraded[0].reason


def test_an_answer_cut_at_its_tokens_says_so(world: World) -> None:
    world.answers.is_whole = False
    result = answered(world, world.run(asked(answer_tokens=30)))
    assert result.answer is not None
    assert [(part.stage, part.reason) for part in result.degraded] == [("answer", "cut at 30 tokens (answer_tokens)")]


def test_what_came_of_an_answer_before_the_providers_error_is_kept_and_told(world: World) -> None:
    world.answers.is_whole, world.answers.fault = False, "HTTP 502: provider disconnected"
    result = answered(world, world.run(asked()))
    assert result.answer is not None
    assert result.answer.text == "It is so [1]."
    assert [(part.stage, part.reason, part.code) for part in result.degraded] == [(
        "answer",
        "chat model: the reply broke off, and what had come is kept: HTTP 502: provider disconnected",
        "cut",
    )]  # fmt: skip


def test_a_broken_off_answer_is_begun_anew_and_readers_see_no_text_twice(world: World) -> None:
    broken_off = Unavailable("chat model: the reply broke off")
    replies: Iterator[list[str | Exception]] = iter([["Nine sh", broken_off], ["Nine", " ships [1]."]])
    world.answers.reply = lambda: next(replies)
    request = asked()
    job_id = world.submit(request)
    world.ring(job_id, request, "answer")
    assert as_read(parts(world, job_id)) == "Nine sh"
    retried = [event for _, event in world.board.events(job_id) if isinstance(event, StageFinished)]
    assert [(event.state, event.reason) for event in retried] == [("retrying", "chat model: the reply broke off")]
    world.ring(job_id, request, "answer")
    told = parts(world, job_id)
    assert as_read(told) == answer_of(world, job_id).text == "Nine ships [1]."
    assert next(part for part in told if part.attempt == 2).offset == 0
    assert as_read([part for part in told if part.attempt == 2][:1]) == ""


def test_a_cancelled_job_stops_the_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "TELL_EVERY_S", 0.0)
    request = asked()
    job_id = world.submit(request)

    def reply() -> list[str | Exception]:
        world.board.settle(job_id, Verdict("cancelled"))
        return ["one ", "two ", "three "]

    world.answers.reply = reply
    world.ring(job_id, request, "answer")
    assert world.answers.parts_heard == 1
    assert parts(world, job_id) == []
    assert world.board.picture(job_id).record.state == "cancelled"


def test_no_model_is_asked_when_no_time_is_left(world: World) -> None:
    result = answered(world, world.run(asked(deadline=0.2)))
    assert (world.answers.asked, result.complete) == ([], False)
    assert "cut by the deadline" in result.degraded[0].reason


def test_at_the_deadline_the_hits_come_back_and_what_is_missing_is_named(world: World) -> None:
    request = asked(judge=True)
    job_id = world.submit(request)
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    result = answered(world, job_id)
    assert len(result.results) == 2
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("answer", "cut by the deadline"),
        ("judge", "there is no answer to judge"),
    ]


def test_a_judgement_cut_by_the_deadline_leaves_the_answer(world: World) -> None:
    request = asked(judge=True)
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "answer")
    assert claim is not None
    (bell,) = run_step.flow_of(claim.request).step(claim, world.ports)
    assert (bell.step, bell.queue) == ("judge", Queue.EXPAND)
    run_step.settle_at_deadline(world.board.picture(job_id), world.ports)
    result = answered(world, job_id)
    assert result.answer is not None
    assert [(part.stage, part.reason) for part in result.degraded] == [("judge", "cut by the deadline")]


def test_a_worker_that_dies_before_ringing_for_the_judge_loses_nothing(world: World) -> None:
    request = asked(judge=True)
    job_id = world.submit(request)
    claim = world.board.claim(job_id, "answer")
    assert claim is not None
    sources = [writing.CitableHit(hit.id, hit.text, hit.page, hit.title) for hit in request.hits]
    outcome = writing.run_step(claim, request, world.board.picture(job_id), sources, world.ports)
    assert world.board.finish(claim, outcome) is not None
    world.let_pass(3)
    bells = sweep(world.ports)
    assert [bell.step for bell in bells] == ["judge"]
    assert sweep(world.ports) == []
    for bell in bells:
        run_step.run_step(bell, world.ports)
    assert answer_of(world, job_id).judgement is not None


def test_the_answer_waits_for_the_chat_model() -> None:
    assert asked().queue_of("answer") is Queue.EXPAND


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"query": " "}, "query"),
    ({"hits": []}, "hits"),
    ({"hits": [HITS[0], HITS[0]]}, "every id must occur once"),
    ({"hits": [{"id": 1}]}, "hits.0.text"),
    ({"hits": [{"id": 1, "text": "t", "page": -1}]}, "hits.0.page"),
    ({"answer_tokens": 5}, "answer_tokens"),
    ({"passage_tokens": 0}, "passage_tokens"),
    ({"top_n": 3}, "top_n"),
]


@pytest.mark.parametrize(("fields", "named"), WRONG)
def test_a_bad_request_names_the_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError) as error:
        asked(**({"query": "q", "hits": HITS} | fields))
    told = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.value.errors()]
    assert any(named in line for line in told)


def test_a_question_that_refers_back_is_answered_with_the_turns_that_it_needs(world: World) -> None:
    history = [{"role": "user", "text": "which ships are there?"}, {"role": "assistant", "text": "Nine."}]
    world.run(asked("how old are they?", history=history))
    world.run(asked("how many ships does the fleet count today?", history=history))
    assert [[turn.text for turn in said] for said in world.answers.said] == [["which ships are there?", "Nine."], []]
