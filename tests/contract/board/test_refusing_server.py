"""A server that refuses commands for now counts as the board being away: an error of Querymill's, with a remedy."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any
from uuid import uuid4

import pytest

from querymill import AsyncQuerymill, EmbedTexts, Querymill, QuerymillError, Unavailable
from querymill_embedded import free_ports
from querymill_shared.board import ValkeyBoard, ValkeyWatchedBoard
from querymill_shared.board.away import AWAY, REFUSED_FOR_NOW
from querymill_shared.board.connections import open_async_commands, open_commands, run_commands
from querymill_shared.settings import Settings
from tests.fixtures.refusing_boards import WAYS, RefusingBoard, refusing, refusing_board
from tests.fixtures.tallies import until

JOB = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "nine ships"}]})
NOWHERE = "redis://127.0.0.1:1/0"

Asks = Callable[[str], object]


def another() -> EmbedTexts:
    return JOB.model_copy(update={"texts": (JOB.texts[0].model_copy(update={"text": uuid4().hex}),)})


def threads(url: str) -> object:
    with Querymill(redis_url=url) as mill:
        return mill.submit(JOB)


def coroutines(url: str) -> object:
    async def submit() -> object:
        async with AsyncQuerymill(redis_url=url) as mill:
            return await mill.submit(JOB)

    return asyncio.run(submit())


def several_at_once(url: str) -> object:
    with open_commands(url) as client:
        return run_commands(client, [("SET", f"qm:{{0}}:{name}", "1") for name in "abc"])


def pipeline(url: str) -> object:
    with open_commands(url) as client:
        pipe = client.pipeline(transaction=False)
        pipe.set("a", "1")
        pipe.set("b", "1")
        return pipe.execute()


def pipeline_of_coroutines(url: str) -> object:
    async def run() -> object:
        async with open_async_commands(url) as client:
            pipe = client.pipeline(transaction=False)
            pipe.set("a", "1")
            pipe.set("b", "1")
            return await pipe.execute(raise_on_error=False)

    return asyncio.run(run())


def watching(url: str) -> object:
    with closing(ValkeyWatchedBoard.connect(Settings(redis_url=url))) as board:
        board._client.xadd("qm:{0}:watch:w", {"a": "1"})
        return board.listen("w")


ASKED: tuple[Asks, ...] = (threads, coroutines, several_at_once, pipeline, pipeline_of_coroutines, watching)
each_asks = pytest.mark.parametrize("asks", ASKED, ids=lambda asks: asks.__name__)


@pytest.fixture(scope="module")
def server() -> Iterator[RefusingBoard]:
    with refusing_board() as board:
        yield board


def refused(asks: Asks, url: str) -> QuerymillError:
    with pytest.raises(Unavailable) as raised:
        asks(url)
    assert isinstance(raised.value, QuerymillError)
    assert isinstance(raised.value, AWAY)
    return raised.value


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_for_now_is_unavailable_and_names_the_remedy(server: RefusingBoard, way: str) -> None:
    with refusing(server, way):
        for asks in ASKED:
            said = refused(asks, server.url).detail
            assert said.startswith(f"board: {way} "), (asks, said)
            assert said.endswith(REFUSED_FOR_NOW[way])
    for asks in ASKED:
        assert asks(server.url)


def test_a_cluster_that_lacks_parts_is_unavailable() -> None:
    # Its usual second port, 10,000 above the first, may be none.
    second = str(free_ports(["second"], preferred={})["second"])
    with refusing_board("--cluster-enabled", "yes", "--cluster-port", second) as board:
        for asks in (several_at_once, pipeline_of_coroutines):
            assert "start that part of its cluster" in refused(asks, board.url).detail


def test_a_cluster_that_is_moving_keys_is_unavailable() -> None:
    second, third = (str(port) for port in free_ports(["second", "third"], preferred={}).values())
    with (
        refusing_board("--cluster-enabled", "yes", "--cluster-port", second) as board,
        refusing_board("--cluster-enabled", "yes", "--cluster-port", third) as other,
        open_commands(board.url) as client,
    ):

        def ask(*words: object, of: RefusingBoard = board) -> Any:
            cluster: Any = of.client
            return cluster.execute_command("CLUSTER", *words)

        ask("ADDSLOTSRANGE", 0, 16_383)
        ask("MEET", "127.0.0.1", other.port, third)
        there = ask("MYID", of=other)
        until(lambda: there in ask("NODES") and "cluster_state:ok" in ask("INFO"), within_s=20)
        slot = ask("KEYSLOT", "qm:{0}:a")
        client.set("qm:{0}:a", "1")
        ask("SETSLOT", slot, "MIGRATING", there)
        with pytest.raises(Unavailable, match=r"(?m)^board: TRYAGAIN .*: try again$"):
            run_commands(client, [("MGET", "qm:{0}:a", "qm:{0}:b")])
        with pytest.raises(Unavailable, match=r"(?m)^board: TRYAGAIN .*: try again$"):
            client.mget("qm:{0}:a", "qm:{0}:b")
        ask("SETSLOT", slot, "STABLE")
        assert client.mget("qm:{0}:a", "qm:{0}:b") == ["1", None]


@pytest.mark.parametrize("way", ["READONLY", "MASTERDOWN", "BUSY"])
def test_a_board_that_was_refused_takes_it_for_no_cluster_and_no_broken_job(server: RefusingBoard, way: str) -> None:
    with closing(ValkeyBoard.connect(Settings(redis_url=server.url))) as board:
        job_id, _ = board.submit(JOB)
        with refusing(server, way):
            for ask in (board.due, board.due_in, lambda: board.picture(job_id)):
                with suppress(Unavailable):  # a replica still reads
                    ask()
        assert board._is_one_server
        assert board.picture(job_id).record.state == "queued"


@each_asks
def test_a_server_that_is_not_there_is_unavailable(asks: Asks) -> None:
    error = refused(asks, NOWHERE)
    assert str(error) == "the job board cannot be reached just now; try again later"
    said = error.detail
    assert said.startswith("board: Error 111 connecting to 127.0.0.1:1")
    assert said.endswith("is REDIS_URL right?")


@pytest.mark.parametrize("way", ["NOREPLICAS", "MISCONF", "READONLY", "OOM"])
def test_a_broker_that_refuses_a_bell_costs_no_job(server: RefusingBoard, valkey_url: str, way: str) -> None:
    """The job is on the board, and the sweeper rings later."""
    settings = Settings(redis_url=valkey_url, celery_broker_url=server.url)
    with Querymill(settings=settings) as mill:
        assert mill.submit(another()).is_new  # kombu has a connection from now on
        with refusing(server, way):
            assert mill.submit(another()).is_new


@pytest.mark.one_server
@pytest.mark.parametrize("asks", [threads, coroutines], ids=lambda asks: asks.__name__)
def test_a_password_that_is_wrong_is_named(valkey_url: str, asks: Asks) -> None:
    said = refused(asks, valkey_url.replace("redis://:", "redis://:not-")).detail
    assert "are the user and the password in REDIS_URL right?" in said
    assert "not-" not in said


@pytest.mark.parametrize("word", REFUSED_FOR_NOW)
@pytest.mark.parametrize("asks", [several_at_once, pipeline, pipeline_of_coroutines], ids=lambda asks: asks.__name__)
def test_every_first_word_is_known(word: str, asks: Asks) -> None:
    """Also those that no server can be brought to say at will."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer_all, args=(listening, word), daemon=True).start()
        said = refused(asks, f"redis://127.0.0.1:{listening.getsockname()[1]}/0?protocol=2").detail
        listening.shutdown(socket.SHUT_RDWR)
    assert said.endswith(REFUSED_FOR_NOW[word])


def answer_all(listening: socket.socket, word: str) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                while received := connection.recv(65_536):
                    told = b"+OK\r\n" if b"CLIENT" in received else f"-{word} for now\r\n".encode()
                    connection.sendall(told * max(1, received.count(b"*")))
