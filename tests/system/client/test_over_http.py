"""The client over HTTP: the same methods as over the board, through a real gateway and real workers."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest
import redis

from querymill import (
    AccessDenied,
    AsyncQuerymill,
    ClientClosed,
    Done,
    EmbedTexts,
    Hits,
    IdempotencyConflict,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    Querymill,
    QuerymillError,
    ReportSearch,
    Settings,
    StillRunning,
    UnexpectedReply,
    UnknownCollection,
    UnknownJob,
)
from querymill.keys import Scope
from querymill_shared.board import Step, Verdict
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.proxy import Network, network
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import board_of
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import GatewayHere, keys_on

QUESTION = "how many ships has the fleet?"
SEARCH = ReportSearch(query=QUESTION, collection="filings", deadline=60)
EMBED = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "t", "text": "x"}]})
ROWS = [{"sha1": f"r{number}", "title": f"Report {number}", "pages": [{"page": 1, "text": f"quay {number}"}]}
        for number in range(3)]  # fmt: skip


@pytest.fixture
def over_http(gateway_of_client: GatewayHere) -> Iterator[Querymill]:
    with Querymill(url=gateway_of_client.url) as connected:
        yield connected


@pytest.fixture
def cable(gateway_of_client: GatewayHere) -> Iterator[Network]:
    """The network between the client and the gateway."""
    with network("127.0.0.1", gateway_of_client.port) as laid:
        yield laid


@pytest.fixture
def quiet(deployment: Deployment) -> Iterator[Settings]:
    """The settings of a board that no worker serves."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/9"
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield deployment.settings.model_copy(update={"redis_url": url})
        server.flushdb()


def parts_of(step: Step) -> list[object]:
    return [(each.number, each.outcome, each.worker, each.started, each.parts) for each in step.attempts]


def submitted(board_client: redis.Redis) -> int:
    """How many jobs the board has accepted."""
    return sum(int(board_client.zcard(key)) for key in board_client.scan_iter("qm:*recent", count=1000))


def test_a_search_is_submitted_followed_and_read(over_http: Querymill, deployment: Deployment, filings: str) -> None:
    with Querymill(settings=deployment.settings) as here:
        job = over_http.submit(SEARCH.model_copy(update={"hyde": True}))
        events = list(job.events(timeout=60))
        assert isinstance(events[-1], Done)
        assert any(isinstance(event, Hits) for event in events)
        same = here.job(job.id)
        assert [event.id for event in events] == [event.id for event in same.events(timeout=60)]
        assert list(job.events(timeout=60, after=events[1].id)) == events[2:]
        assert list(job.events(timeout=60, after=events[-1].id)) == []
        result = job.result(timeout=60)
        assert result == same.result(timeout=60)
        assert any("nine ships" in hit.text for hit in result.results)
        there, whole = job.picture(), same.picture()
    assert (there.record.state, there.asked, there.hits) == ("done", whole.asked, whole.hits)
    assert [parts_of(step) for step in there.steps] == [parts_of(step) for step in whole.steps]
    assert job.is_new
    assert (repr(job), repr(over_http)) == (
        f"<Job {job.id}: reports of 'filings'>",
        f"<Querymill: {over_http._transport.place}>",
    )
    assert QUESTION not in repr(result)
    assert job.id in [each.id for each in over_http.recent(limit=300)]
    assert job.release()
    assert not job.release()
    with pytest.raises(UnknownJob):
        job.result(timeout=10)


@pytest.mark.usefixtures("filings")
def test_what_a_job_did_is_found_by_its_key_and_read_when_it_is_gone(over_http: Querymill) -> None:
    key = uuid4().hex
    job = over_http.submit(SEARCH, idempotency_key=key, labels={"user": "ada"})
    job.result(timeout=60)
    assert [each.id for each in over_http.recent(idempotency_key=key, labels={"user": "ada"})] == [job.id]
    assert over_http.recent(idempotency_key=key, labels={"user": "bob"}) == []
    assert job.release()
    assert job.id in [each.id for each in over_http.past(limit=300)]
    trail = job.trail()
    assert (trail.record.is_trail, trail.record.labels, trail.asked) == (True, {"user": "ada"}, None)
    assert [step.state for step in trail.steps] == ["done"] * len(trail.steps)


def test_a_cut_loses_and_doubles_nothing(
    gateway_of_client: GatewayHere, cable: Network, filings: str, board_client: redis.Redis
) -> None:
    with Querymill(url=f"http://127.0.0.1:{cable.port}") as mill:
        before = submitted(board_client)
        cable.lay(b"POST /v1/jobs", times=2, act=cable.lose_reply)
        job = mill.submit(SEARCH)
        assert job.is_new
        assert submitted(board_client) == before + 1
        told = []
        for event in job.events(timeout=60):
            told.append(event.id)
            cable.cut()
            cable.mend()
        with Querymill(url=gateway_of_client.url) as whole:
            assert told == [event.id for event in whole.job(job.id).events(timeout=60)]
        cable.lay(b"/result", times=1)
        assert job.result(timeout=60).complete
        cable.lay(b":release", times=1, act=cable.lose_reply)
        assert job.release()


def test_idempotency_keys_lead_to_one_job(over_http: Querymill, filings: str) -> None:
    for key in ("turn-7", 'der Schlüssel, mit "Zeichen"', "k" * 900):
        first = over_http.submit(SEARCH, idempotency_key=key)
        again = over_http.submit(SEARCH, idempotency_key=key)
        assert (again.id, first.is_new, again.is_new) == (first.id, True, False)
        with pytest.raises(IdempotencyConflict) as conflict:
            over_http.submit(SEARCH.model_copy(update={"query": "another"}), idempotency_key=key)
        assert conflict.value.job_id == first.id
        first.result(timeout=60)
        first.release()


def test_documents_go_in_and_out(over_http: Querymill, worker: WorkerProcess, openai_server: OpenAIServer) -> None:
    done = over_http.ingest("reports", ROWS, collection="quays")
    assert (done.outcomes["ingested"], done.is_clean) == (3, True)
    listed = over_http.list("reports", collection="quays", limit=2)
    assert (listed.total, len(listed.documents)) == (3, 2)
    assert [each["sha1"] for each in over_http.export("reports", collection="quays")] == ["r0", "r1", "r2"]
    assert over_http.show("reports", "r1", collection="quays")["title"] == "Report 1"
    assert "reports" in over_http.collections()["quays"]
    assert over_http.drop("reports", collection="quays", everything=True, timeout=60).total == 3
    with pytest.raises(JobFailed, match="is not among the reports") as failed:
        over_http.show("reports", "r1", collection="quays")
    assert "r1" not in str(failed.value)
    with pytest.raises(InvalidRequest, match="limit: "):
        over_http.list("reports", collection="quays", limit=0)


def test_what_goes_wrong_is_told_as_over_the_board(over_http: Querymill, filings: str) -> None:
    with pytest.raises(UnknownCollection, match=r"no reports in 'nowhere'; .*filings") as unknown:
        over_http.submit(SEARCH.model_copy(update={"collection": "nowhere"}))
    assert str(unknown.value) == "collection: no reports in 'nowhere'"
    missing = over_http.job("0" * 32)
    for call in (missing.result, missing.picture, lambda: list(missing.events())):
        with pytest.raises(UnknownJob):
            call()
    assert (missing.cancel(), missing.release(), missing.replay(), missing.drop()) == (False,) * 4
    with Querymill(url=f"{over_http._transport.place}/elsewhere") as lost, pytest.raises(UnexpectedReply) as wrong:
        lost.collections()
    assert "elsewhere" not in str(wrong.value)
    assert "404" in wrong.value.detail


def test_a_job_that_waits_is_cancelled_and_a_dead_one_is_replayed_and_dropped(quiet: Settings) -> None:
    with (
        GatewayHere(quiet) as gateway,
        Querymill(url=gateway.url) as over_http,
        Querymill(settings=quiet) as here,
    ):
        board = board_of(here)
        waiting, given_up = (board.submit(EMBED.model_copy(update={"collection": name}))[0] for name in ("c1", "c2"))
        job = over_http.job(waiting)
        with pytest.raises(StillRunning):
            job.result(timeout=0)
        with pytest.raises(StillRunning):
            list(job.events(timeout=0.2))
        assert (job.cancel(), job.cancel()) == (True, False)
        with pytest.raises(JobCancelled):
            job.result(timeout=10)
        board.settle(given_up, Verdict("dead", reason="PostgreSQL at db.internal: no", code="store_down"))
        (dead,) = [each for each in over_http.dead(limit=300) if each.id == given_up]
        with pytest.raises(JobFailed, match=r"db\.internal") as failed:
            dead.result(timeout=10)
        assert str(failed.value) == f"job {given_up} failed: a store was away"
        assert (dead.replay(), dead.replay()) == (True, False)
        board.settle(given_up, Verdict("dead", reason="again"))
        assert (dead.drop(), dead.drop()) == (True, False)


def test_a_key_does_what_its_scopes_allow(deployment: Deployment, filings: str) -> None:
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        _, reads = keyring.add("reads", scopes=(Scope.SEARCH,), collections=(filings,))
        _, loads = keyring.add("loads", scopes=(Scope.SEARCH, Scope.INGEST), collections=("quays",))
        with (
            Querymill(url=gateway.url, api_key=reads) as reader,
            Querymill(url=gateway.url, api_key=loads) as loader,
        ):
            job = reader.submit(SEARCH)
            assert job.result(timeout=60).results
            refused: list[Callable[[], Any]] = [
                lambda: reader.ingest("reports", ROWS, collection=filings),
                job.replay,
                job.drop,
                lambda: loader.ingest("reports", ROWS, collection=filings),
            ]
            for call in refused:
                with pytest.raises(AccessDenied) as denied:
                    call()
                assert reads not in f"{denied.value}{denied.value.detail}{reader!r}{reader._transport!r}"
            with pytest.raises(UnknownCollection, match="collections with reports: none yet"):
                loader.submit(SEARCH)
            with pytest.raises(UnknownJob):
                loader.job(job.id).result(timeout=10)
            assert list(reader.collections()) == [filings]
        with Querymill(url=gateway.url, api_key=f"{reads}x") as stranger, pytest.raises(AccessDenied):
            stranger.collections()


def test_many_coroutines_wait_at_once(gateway_of_client: GatewayHere, deployment: Deployment, filings: str) -> None:
    with Querymill(settings=deployment.settings) as here:
        stored = here.list("reports", collection=filings).documents

    async def ask() -> None:
        async with AsyncQuerymill(url=gateway_of_client.url) as mill:
            jobs = [await mill.submit(SEARCH.model_copy(update={"query": f"ships {number}"})) for number in range(20)]
            results = await asyncio.gather(*(job.result(timeout=60) for job in jobs))
            assert [result.job_id for result in results] == [job.id for job in jobs]
            async with aclosing(jobs[0].events(timeout=60)) as events:
                assert [event.type async for event in events][-1] == "done"
            assert (await mill.list("reports", collection=filings)).documents == stored
            assert jobs[3].id in [job.id for job in await mill.recent(limit=100)]
            assert (await jobs[0].picture()).record.state == "done"

    asyncio.run(ask())


def test_closing_a_client_ends_its_waits(quiet: Settings) -> None:
    caught: list[type[QuerymillError]] = []

    def wait(call: Callable[[], object]) -> None:
        try:
            call()
        except QuerymillError as error:
            caught.append(type(error))

    with GatewayHere(quiet) as gateway:
        mill = Querymill(url=gateway.url)
        job = mill.submit(EMBED)
        calls = (lambda: job.result(timeout=60), lambda: list(job.events(timeout=60)))
        waits = [threading.Thread(target=wait, args=(call,)) for call in calls]
        for thread in waits:
            thread.start()
        gateway.until_waiting(2)
        mill.close()
        for thread in waits:
            thread.join(30)
    assert caught == [ClientClosed, ClientClosed]
