"""Jobs that hold a forgotten text: found by collection, and deleted with all that the board holds of them."""

import json
from typing import Any

import pytest

from querymill_shared.board import Board, Outcome, Verdict, keys
from querymill_shared.board.calls import READABLE_MS
from querymill_shared.board.connections import open_commands
from querymill_shared.board.erasure import Scrubbed
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import Hits, PartialHit, Progress
from querymill_shared.contracts.jobs import JobRequest, fingerprint
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board, let_expire, let_pass, on_both_servers

CANARY = "canary-4711"
#: A job that ended stays readable for less than this, in seconds.
MOMENT_S = READABLE_MS / 1_000 + 0.1
SEARCH = ReportSearch(query=f"who is {CANARY}?", collection="acme", deadline=30)
EMBED = EmbedTexts(collection="acme", texts=(TextToEmbed(id="1", text=CANARY),))


def begin(board: Board, request: JobRequest = SEARCH) -> str:
    """A job whose only step has taken a query."""
    job_id, _ = board.submit(request)
    step = request.steps[0]
    board.take_queries(claimed(board, job_id, step), [CANARY], rivals=["another step"])
    return job_id


def end(board: Board, job_id: str, verdict: Verdict, request: JobRequest = SEARCH) -> None:
    held = board.picture(job_id).steps[0]
    assert held.state == "running"
    board.settle(job_id, verdict)


def result_of(job_id: str) -> str:
    return f'{{"job_id":"{job_id}","text":"{CANARY}"}}'


def let_the_moment_pass(board: Board) -> None:
    """Have the time pass for which an ended job stays readable."""
    let_pass(board, MOMENT_S)
    let_expire(board, MOMENT_S)


def go(board: Board, *job_ids: str) -> None:
    """Let the moment pass for which ended jobs stay readable, and look that they are gone."""
    assert all(board.picture(job_id).record.is_over for job_id in job_ids)
    let_the_moment_pass(board)
    for job_id in job_ids:
        with pytest.raises(UnknownJob):
            board.picture(job_id)


def raw(settings: Settings) -> str:
    """Everything that the server holds."""
    with open_commands(settings.redis_url, decode_responses=False) as client:
        return "\n".join(f"{key!r} {client.dump(key)!r}" for key in client.scan_iter())


def test_the_jobs_of_a_collection_are_listed_and_no_others(board: Board) -> None:
    mine = {board.submit(SEARCH)[0], board.submit(SEARCH)[0], board.submit(EMBED)[0]}
    board.submit(SEARCH.model_copy(update={"collection": "other"}))
    found = list(board.jobs_of("acme"))
    assert {job.job_id for job in found} == mine
    assert {(job.kind, job.state) for job in found} == {("reports", "queued"), ("embed", "queued")}
    assert list(board.jobs_of("nobody")) == []


@pytest.mark.parametrize("verdict", ["done", "failed", "dead", "cancelled"])
def test_a_job_that_ended_before_is_gone_at_once(board: Board, verdict: Any) -> None:
    job_id = begin(board, EMBED)
    end(board, job_id, Verdict(verdict, result=result_of(job_id) if verdict == "done" else ""), EMBED)
    let_the_moment_pass(board)
    assert board.erase_jobs([job_id]) == 0
    with pytest.raises(UnknownJob):
        board.picture(job_id)
    assert (board.result(job_id), board.events(job_id), board.dead()) == (None, [], [])


def test_a_job_that_ended_just_now_stays_readable_for_a_moment(board: Board) -> None:
    job_id = begin(board)
    end(board, job_id, Verdict("done", result=result_of(job_id)))
    assert board.erase_jobs([job_id]) == 1
    assert board.result(job_id) == result_of(job_id)
    go(board, job_id)


@on_both_servers
def test_what_is_under_way_ends_as_always_and_is_gone_a_moment_later(board: Board) -> None:
    job_id = begin(board)
    assert board.erase_jobs([job_id]) == 1
    assert not board.has_ended(job_id)
    end(board, job_id, Verdict("done", result=result_of(job_id)))
    assert board.result(job_id) == result_of(job_id)
    go(board, job_id)


def test_a_forgotten_job_does_not_stay_as_a_dead_letter(board: Board) -> None:
    job_id = begin(board, EMBED)
    board.erase_jobs([job_id])
    end(board, job_id, Verdict("dead", reason="away"), EMBED)
    go(board, job_id)
    assert board.dead() == []


OTHER = EMBED.model_copy(update={"texts": (TextToEmbed(id="2", text="of somebody else"),)})


@pytest.mark.parametrize("verdict", ["failed", "dead"])
def test_a_job_that_holds_other_texts_too_is_trimmed_and_kept(board: Board, verdict: Any) -> None:
    job_id = begin(board, EMBED)
    assert board.trim_job(job_id, OTHER)
    end(board, job_id, Verdict(verdict, reason="away"), EMBED)
    let_the_moment_pass(board)
    assert board.picture(job_id).request == OTHER
    assert board.trim_job(job_id, EMBED), "an ended one too"
    assert board.picture(job_id).request == EMBED
    assert board.dead() == ([job_id] if verdict == "dead" else [])


def test_a_trimmed_job_that_is_done_is_gone_a_moment_later(board: Board) -> None:
    job_id = begin(board, EMBED)
    assert board.trim_job(job_id, OTHER)
    end(board, job_id, Verdict("done", result=result_of(job_id)), EMBED)
    go(board, job_id)
    assert not board.trim_job(job_id, OTHER)


def test_what_is_done_has_no_request_to_trim(board: Board) -> None:
    job_id = begin(board, EMBED)
    end(board, job_id, Verdict("done", result=result_of(job_id)), EMBED)
    assert not board.trim_job(job_id, OTHER)


def test_nobody_joins_work_that_may_have_read_what_is_forgotten(board: Board) -> None:
    leader = begin(board)
    board.erase_jobs([leader])
    assert board.submit(SEARCH)[1], "this search starts work of its own"


def test_those_who_joined_are_forgotten_with_the_work(board: Board) -> None:
    leader = begin(board)
    follower, starts = board.submit(SEARCH)
    assert not starts
    assert {job.job_id for job in board.jobs_of("acme")} == {leader, follower}
    board.erase_jobs([leader, follower])
    end(board, leader, Verdict("done", result=result_of(leader)))
    assert board.result(follower) == result_of(follower)
    go(board, leader, follower)


def test_forgetting_what_is_not_there_changes_nothing(board: Board) -> None:
    assert board.erase_jobs(["0" * 32]) == 0
    assert board.erase_jobs([]) == 0


def test_a_collection_is_struck_off_the_list(board: Board) -> None:
    board.add_collections("reports", ["acme", "other"])
    board.remove_collections("reports", ["acme", "never"])
    board.remove_collections("reports", [])
    assert board.collections("reports") == {"other"}


def test_no_byte_of_a_forgotten_job_stays_on_the_server(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        job_id = begin(board)
        client.hset(f"qm:{{{job_id[0]}}}:{job_id}:job", "watch", "me:all")
        board.append_event(job_id, Progress(stage=CANARY, done=1, total=2))
        assert CANARY in raw(settings)
        board.erase_jobs([job_id])
        board.append_event(job_id, Progress(stage=CANARY, done=2, total=2))
        end(board, job_id, Verdict("done", result=result_of(job_id)))
        go(board, job_id)
        assert CANARY not in raw(settings)
        assert client.exists(f"qm:{{{job_id[0]}}}:watch:me"), "who watches is told of the end"


def test_a_forgotten_result_leaves_the_streams_and_the_end_stays_in_them(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        job_id = begin(board)
        client.hset(f"qm:{{{job_id[0]}}}:{job_id}:job", "watch", "me:end")
        end(board, job_id, Verdict("done", result=result_of(job_id)))
        stream = f"qm:{{{job_id[0]}}}:watch:me"
        assert CANARY in str(client.xrange(stream))
        board.erase_jobs([job_id])
        ((_, told),) = client.xrange(stream)
        assert (told[b"type"], CANARY in str(told)) == (b"done", False)


def test_a_key_of_another_type_is_passed_over(settings: Settings) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        client.set(f"qm:{{a}}:{'a' * 32}:job", "rubbish")
        client.set("qm:{a}:watch:rubbish", "rubbish")
        job_id = begin(board)
        assert [job.job_id for job in board.jobs_of("acme")] == [job_id]
        assert board.erase_jobs([job_id]) == 1


@pytest.mark.parametrize("written", ["x", "7", f"[{CANARY}", b"\xff"])
def test_what_another_program_wrote_as_a_result_is_read_as_text(settings: Settings, written: str | bytes) -> None:
    with empty_board(settings) as board, open_commands(settings.redis_url, decode_responses=False) as client:
        job_id = begin(board)
        board.settle(job_id, Verdict("done", result="{}"))
        (result,) = keys.of_job(job_id, "result")
        client.set(result, written)
        kept = board.kept_of([job_id])[job_id]
        assert kept.result == ""
        assert (CANARY in kept.rest) == (CANARY in str(written))


WRITE = DropDocuments(collection="acme", retriever="messages", ids=(CANARY,))


@pytest.mark.parametrize("names", [[CANARY], ['ünï \\ "quoted"', CANARY]])
def test_how_a_write_under_way_ends_stays_without_what_was_forgotten(
    board: Board, settings: Settings, names: list[str]
) -> None:
    job_id, _ = board.submit(WRITE, SubmitOptions(idempotency_key="key"))
    held = claimed(board, job_id, WRITE.steps[0])
    board.postpone(held, delay_s=0, reason=f"{CANARY} is locked", cause="conflict")
    held = claimed(board, job_id, WRITE.steps[0])
    assert board.mark_forgotten(job_id, names, is_write=True)
    assert board.erase_jobs([job_id]) == 1
    result = json.dumps({"documents": [{"document": name} for name in [*names, CANARY + "2"]]}, ensure_ascii=False)
    result = result.replace('": "', '":"')
    board.finish(held, Outcome(notes={"of": CANARY}))
    assert board.settle(job_id, Verdict("done", result=result))
    let_the_moment_pass(board)
    picture = board.picture(job_id)
    assert (picture.record.state, picture.asked) == ("done", None)
    told = json.loads(board.result(job_id) or "")
    assert [document["document"] for document in told["documents"]] == ["forgotten"] * len(names) + [CANARY + "2"]
    assert [event.type for _, event in board.events(job_id)] == ["done"]
    assert board.submit(WRITE, SubmitOptions(idempotency_key="key")) == (job_id, False)
    assert board.submit(WRITE.model_copy(update={"ids": ("b",)}), SubmitOptions(idempotency_key="key")) == (
        job_id,
        False,
    )
    assert fingerprint(WRITE) not in raw(settings)
    assert f'{CANARY}"' not in raw(settings)
    assert not board.mark_forgotten(job_id, names, is_write=True)


@pytest.mark.parametrize("named", [f'"{CANARY}"', f'"{CANARY}/page/3"', f'"11/{CANARY}/=m"'])
@pytest.mark.parametrize("joined", [False, True])
def test_a_search_under_way_goes_only_if_its_result_names_what_was_forgotten(
    board: Board, named: str, joined: bool
) -> None:  # fmt: skip
    for text, goes in ((named, True), (f'"{CANARY}2"', False)):
        search = SEARCH.model_copy(update={"query": f"who is {text}?"})
        job_id, _ = board.submit(search)
        followers = [board.submit(search)[0]] if joined else []
        held = claimed(board, job_id)
        board.append_event(
            job_id, Hits(after_stage="original", total=1, hits=(PartialHit(key=CANARY, score=1),)), held=held
        )
        for each in (job_id, *followers):
            assert board.mark_forgotten(each, [CANARY], is_write=False)
        board.finish(held, Outcome())
        board.settle(job_id, Verdict("done", result=f'{{"job_id":"{job_id}","results":[{text}]}}'))
        assert all(text in (board.result(each) or "") for each in (job_id, *followers))
        if goes:
            go(board, job_id, *followers)
            continue
        for each in (job_id, *followers):
            assert [event.type for _, event in board.events(each)] == ["done"]
        let_the_moment_pass(board)
        assert all(board.picture(each).record.state == "done" for each in (job_id, *followers))


def test_a_write_that_is_done_is_scrubbed_and_one_that_is_not_stays_as_it_is(board: Board, settings: Settings) -> None:
    done, open_ = (board.submit(WRITE, SubmitOptions(idempotency_key=key))[0] for key in ("a", "b"))
    board.settle(done, Verdict("done", result=f'{{"session_id":"{CANARY}"}}'))
    kept = board.kept_of([done, open_, "0" * 32])
    assert kept[done].result == f'{{"session_id":"{CANARY}"}}'
    assert "done" in kept[done].rest
    assert kept["0" * 32].result == ""
    board.scrub_jobs([Scrubbed(job_id, is_write=True, result='{"session_id":"forgotten"}') for job_id in (done, open_)])
    assert board.result(done) == '{"session_id":"forgotten"}'
    assert board.picture(done).record.state == "done"
    assert board.submit(WRITE, SubmitOptions(idempotency_key="a")) == (done, False)
    assert board.picture(open_).request == WRITE
