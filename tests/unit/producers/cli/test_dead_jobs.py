"""Dead jobs, as the client and the command line show them, replay them and drop them."""

import pytest

from querymill import Querymill, ReportSearch
from querymill.cli import jobs
from querymill.testing import MemoryMill
from querymill_shared.board import Verdict
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import JobFailed, UnknownJob
from querymill_shared.contracts.results import Degradation
from tests.fixtures.boards import board_of

EMBED = EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),))


def dead(mill: Querymill) -> str:
    """A job that was given up before any worker heard of it."""
    job_id, _ = board_of(mill).submit(EMBED)
    board_of(mill).settle(job_id, Verdict("dead", reason="PostgreSQL: PoolTimeout"))
    return job_id


def test_a_dead_job_is_listed_and_a_replay_brings_its_result() -> None:
    with MemoryMill() as mill:
        job_id = dead(mill)
        (job,) = mill.dead()
        assert job.id == job_id
        with pytest.raises(JobFailed, match="PostgreSQL: PoolTimeout"):
            job.result(timeout=5)
        assert job.replay()
        assert job.result(timeout=5).total == 1
        assert not job.replay()
        assert mill.dead() == []


def test_a_dropped_job_is_unknown() -> None:
    with MemoryMill() as mill:
        job = mill.job(dead(mill))
        assert job.drop()
        assert not job.drop()
        with pytest.raises(UnknownJob):
            job.picture()


def test_dead_jobs_are_found_however_many_came_after_them() -> None:
    with MemoryMill() as mill:
        job_id = dead(mill)
        for _ in range(30):
            board_of(mill).settle(board_of(mill).submit(EMBED)[0], Verdict("failed", reason="bad input"))
        assert [picture.record.job_id for picture in jobs.latest(mill, 20, "dead")] == [job_id]
        assert len(list(jobs.latest(mill, 20, "failed"))) == 30
        assert len(list(jobs.latest(mill, 20, None))) == 20


def test_an_incomplete_job_names_the_first_part_that_it_lacks() -> None:
    gaps = (Degradation(stage="hyde", reason="HTTP 500"), Degradation(stage="judge", reason="cut by the deadline"))
    with MemoryMill() as mill:
        job_id, _ = board_of(mill).submit(EMBED)
        result = EmbedResult(job_id=job_id, total=1, complete=False, degraded=gaps, model="m", dimensions=2)
        board_of(mill).settle(
            job_id, Verdict("done", result=result.model_dump_json(), complete=False, degraded=len(gaps))
        )
        (picture,) = jobs.latest(mill, 20, "incomplete")
        described = jobs.described_with_gap(mill, picture)
    assert (described["state"], described["reason"]) == ("done", "hyde: HTTP 500")


def test_a_step_shows_why_it_was_put_back() -> None:
    with MemoryMill() as mill:
        job_id, _ = board_of(mill).submit(EMBED)
        claim = board_of(mill).claim(job_id, "embed")
        assert claim is not None
        board_of(mill).postpone(claim, delay_s=60, reason="PostgreSQL: PoolTimeout", cause="outage")
        (stage,) = jobs.describe(mill.job(job_id).picture())["stages"]
        assert stage["counts"] == {"outages": 1}


def test_a_job_shows_how_many_share_its_work() -> None:
    asked = ReportSearch(query="how many ships", collection="filings")
    with MemoryMill() as mill:
        first, second = (board_of(mill).submit(asked)[0] for _ in range(2))
        shown = [jobs.describe(mill.job(job_id).picture()) for job_id in (first, second)]
        assert [row["callers"] for row in shown] == [2, 2]


def test_jobs_that_were_let_go_do_not_push_others_off_the_list() -> None:
    with MemoryMill() as mill:
        kept = dead(mill)
        for number in range(5):
            text = TextToEmbed(id="1", text=f"ship {number}")
            job = mill.submit(EmbedTexts(collection="c", texts=(text,)))
            job.result(timeout=10)
            job.release()
        assert [picture.record.job_id for picture in jobs.latest(mill, 2, None)] == [kept]
