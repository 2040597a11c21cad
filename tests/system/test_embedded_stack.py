"""The embedded stack with its real servers: what is up answers, what is killed comes back, what is down is gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import openai
import psutil
import psycopg
import pytest
import redis

from querymill_embedded import (
    PartStatus,
    ProcessState,
    Program,
    Stack,
    StackError,
    StackPart,
    free_ports,
    temporary_stack,
)
from tests.fixtures.stacks import kept

__all__ = ["kept"]

T = TypeVar("T")

SLEEPER = Program(name="sleeper", command=("sleep", "600"))
OWNER = """
import sys, time
from querymill_embedded import StackPart, temporary_stack
with temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}) as stack:
    print(stack.data, *(status.pid for status in stack.status()), flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def full() -> Iterator[Stack]:
    with temporary_stack() as stack:
        yield stack


def test_all_parts_answer_a_real_request(full: Stack) -> None:
    at = full.environment()
    assert {status.name: status.state for status in full.status()} == dict.fromkeys(StackPart, ProcessState.RUNNING)
    assert all(status.log.is_file() and status.pid and status.address for status in full.status())

    with redis.Redis.from_url(at["REDIS_URL"]) as valkey:
        config = valkey.config_get("*")
        assert (config["appendonly"], config["maxmemory-policy"]) == ("yes", "noeviction")
    assert _rows(at, "CREATE EXTENSION IF NOT EXISTS vector; SELECT '[1,2]'::vector <-> '[1,4]'") == [(2.0,)]
    with openai.OpenAI(base_url=at["EMBEDDING_BASE_URL"], api_key=at["EMBEDDING_API_KEY"]) as client:
        embedded = client.embeddings.create(model=at["EMBEDDING_MODEL"], input=["revenue", "营业收入"])
        assert [len(entry.embedding) for entry in embedded.data] == [384, 384]
    with openai.OpenAI(base_url=at["OPENAI_BASE_URL"], api_key=at["OPENAI_API_KEY"]) as client:
        answer = client.chat.completions.create(
            model=at["CHAT_MODEL"], max_tokens=4, messages=[{"role": "user", "content": "Say hello."}]
        )
        assert answer.choices[0].message.content


def test_the_application_is_no_superuser_and_its_database_sorts_chinese_and_english_alike(full: Stack) -> None:
    at = full.environment()
    assert _rows(at, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(False,)]
    assert _rows(at, "SELECT lower('ÄRGER'), 'é' ~ '[[:alpha:]]', current_setting('server_encoding')") == [
        ("ärger", True, "UTF8")
    ]


def test_a_killed_valkey_is_back_at_its_address_with_its_data(full: Stack) -> None:
    with redis.Redis.from_url(full.environment()["REDIS_URL"]) as valkey:
        valkey.set("kept", "yes")
    before = _status(full, "valkey")
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)

    after = _wait_for(lambda: _restarted(full, before))

    assert (after.address, after.restarts) == (before.address, before.restarts + 1)
    with redis.Redis.from_url(full.environment()["REDIS_URL"]) as valkey:
        assert _wait_for(lambda: _get(valkey, "kept")) == b"yes"


def test_two_stacks_run_side_by_side(full: Stack) -> None:
    with temporary_stack(parts={StackPart.VALKEY}) as other:
        assert set(other.environment()) == {"REDIS_URL"}
        ours, theirs = full.environment()["REDIS_URL"], other.environment()["REDIS_URL"]
        with redis.Redis.from_url(ours) as valkey, redis.Redis.from_url(theirs) as second:
            valkey.set("whose", "ours")
            assert second.get("whose") is None
    assert not other.data.exists()
    assert _status(full, "valkey").state is ProcessState.RUNNING


def test_a_program_that_cannot_start_is_named_with_the_end_of_its_log() -> None:
    script = "for n in $(seq 1 30); do echo line $n; done; exit 1"
    broken = Program(name="broken", command=("sh", "-c", script), settle_s=3)
    with (
        pytest.raises(StackError) as caught,
        temporary_stack(parts=(), programs=[SLEEPER, broken]),
    ):
        pytest.fail("the stack came up with a broken program")
    message = str(caught.value)
    assert message.startswith("broken does not run: ")
    assert "line 30" in message
    assert "line 16\n" in message
    assert "line 15\n" not in message
    log = Path(message.partition("last lines of ")[2].partition(":\n")[0])
    assert log.name == "broken.log"
    assert not log.parent.parent.exists()


def test_programs_start_after_prepare_with_the_environment_of_the_stack_under_their_own(tmp_path: Path) -> None:
    order: list[Mapping[str, str]] = []
    awkward = 'both "quotes" and it\'s ; # % %(here)s\nand a line'
    found = tmp_path / "found"
    script = "import os, pathlib, time; pathlib.Path(os.environ['OUT']).write_text('\\0'.join(" \
        "os.environ[name] for name in ('REDIS_URL', 'AWKWARD', 'ORDER'))); time.sleep(600)"  # fmt: skip
    program = Program(
        name="writer",
        command=(sys.executable, "-c", script),
        environment={"AWKWARD": awkward, "OUT": str(found), "ORDER": "own"},
    )
    with temporary_stack(parts={StackPart.VALKEY}, programs=[program], prepare=order.append) as stack:
        assert order == [stack.environment()]
        _wait_for(lambda: found.is_file() and found.stat().st_size)
        assert found.read_text().split("\0") == [stack.environment()["REDIS_URL"], awkward, "own"]


def test_nothing_stays_up_when_prepare_fails(kept: Stack) -> None:
    seen: list[PartStatus] = []

    def refuse(_: Mapping[str, str]) -> None:
        seen.extend(kept.status())
        raise ConnectionError("no migration")

    with pytest.raises(ConnectionError, match="no migration"):
        kept.up(parts={StackPart.VALKEY}, prepare=refuse)
    assert [status.state for status in seen] != []
    assert kept.status() == []
    assert _gone(seen)


def test_a_kept_stack_survives_the_kill_of_its_supervisor_and_leaves_nothing_when_down(kept: Stack) -> None:
    parts = {StackPart.VALKEY, StackPart.POSTGRES}
    kept.up(parts=parts, programs=[SLEEPER])
    first = kept.status()
    kept.up(parts=parts)
    assert [status.pid for status in kept.status()] == [status.pid for status in first]
    with pytest.raises(StackError, match="without chat"):
        kept.up(parts={StackPart.CHAT})
    _rows(kept.environment(), "CREATE TABLE kept AS SELECT 1 AS one; SELECT 1")
    # A part that was started again is not the one whose pid was written down.
    os.kill(first[0].pid or 0, signal.SIGKILL)
    restarted = _wait_for(lambda: _restarted(kept, first[0]))

    _supervisor(restarted).kill()
    _wait_for(lambda: kept.status()[0].state is ProcessState.DEAD)
    kept.up(parts=parts, programs=[SLEEPER])

    assert _gone([*first, restarted])
    assert [status.address for status in kept.status()] == [status.address for status in first]
    assert _rows(kept.environment(), "SELECT one FROM kept") == [(1,)]
    second = kept.status()
    kept.down()
    assert _gone(second)
    assert kept.status() == []
    with pytest.raises(StackError, match="no stack is up"):
        kept.environment()


def test_a_stack_that_was_stopped_comes_back_at_the_same_addresses(kept: Stack) -> None:
    kept.up(parts={StackPart.VALKEY})
    before = kept.environment()
    kept.down()
    kept.up(parts={StackPart.VALKEY})
    assert kept.environment() == before
    kept.down()


def test_a_temporary_stack_goes_with_its_owner_even_when_that_is_killed() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner, owner.stdout:
        folder, *pids = owner.stdout.readline().split()
        processes = [psutil.Process(int(pid)) for pid in pids]
        processes.append(processes[0].parent() or pytest.fail("the part has no supervisor"))
        owner.kill()
    _wait_for(lambda: not Path(folder).exists())
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


def test_only_the_programs_own_process_serves_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        port = foreign.getsockname()[1]
        listener = "import socket, time; s = socket.create_server(('127.0.0.1', {})); time.sleep(600)"
        free = free_ports(["own"], preferred={})["own"]
        own = Program(name="own", command=(sys.executable, "-c", listener.format(free)), port=free)
        beaten = Program(name="beaten", command=("sleep", "600"), port=port)
        with temporary_stack(parts=set(), programs=[own, beaten]) as stack:
            _wait_for(lambda: stack.serves("own"))
            assert not stack.serves("beaten")
            assert not stack.serves("unknown")
        assert not stack.serves("own")


def _rows(environment: Mapping[str, str], statements: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        cursor = connection.execute(statements.encode())
        while cursor.nextset():
            pass
        return cursor.fetchall()


def _status(stack: Stack, name: str) -> PartStatus:
    return next(status for status in stack.status() if status.name == name)


def _restarted(stack: Stack, before: PartStatus) -> PartStatus | None:
    status = _status(stack, before.name)
    return status if status.pid not in (None, before.pid) and status.state is ProcessState.RUNNING else None


def _get(valkey: redis.Redis, key: str) -> object:
    try:
        return valkey.get(key)
    except redis.ConnectionError:
        return None


def _supervisor(status: PartStatus) -> psutil.Process:
    parent = psutil.Process(status.pid).parent()
    assert parent is not None
    return parent


def _gone(statuses: list[PartStatus]) -> bool:
    return not any(_is_alive(status.pid) for status in statuses)


def _is_alive(pid: int | None) -> bool:
    try:
        return pid is not None and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _wait_for(attempt: Callable[[], T | None], *, timeout_s: float = 30) -> T:
    deadline = time.monotonic() + timeout_s
    while not (found := attempt()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return found
