"""Histories followed while they are written, on real servers: every message once and in order, also after a kill."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from querymill import ConversationSearch, Querymill
from querymill_shared.contracts.errors import UnknownCollection
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment, finish_embedding
from tests.fixtures.histories import claude_line, write_lines

#: Generous: other programs keep the processor busy.
LIMIT_S = 60
FILES = 5


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "the limit has passed"
        time.sleep(0.1)


def write(folder: Path, number: int) -> None:
    """Append the message of a number to its file; every third line is written in two halves."""
    session, place = f"w{number % FILES}", number // FILES + 1
    row = claude_line(
        "user", f"{session}-{place}", f"{session}-{place - 1}" if place > 1 else None,
        f"lantern{number} stands on pier {number}", sessionId=session, second=place,
    )  # fmt: skip
    line = write_lines(folder.parents[2] / "line", [row]).read_text()
    with (folder / f"{session}.jsonl").open("a") as file:
        file.write(line[:50])
        file.flush() if number % 3 == 0 else None
        file.write(line[50:])


@pytest.mark.usefixtures("worker")
def test_messages_are_found_while_they_are_written_and_after_a_kill(
    deployment: Deployment, mill: Querymill, tmp_path: Path
) -> None:
    querymill = CommandLine(deployment.environment | {"HOME": str(tmp_path)})
    folder = tmp_path / ".claude" / "projects" / "-work-app"
    folder.mkdir(parents=True)
    follow = ("ingest", "conversations", "--from", "claude-code", "--collection", "followed", "--watch")

    def is_found(number: int) -> bool:
        try:
            asked = ConversationSearch(query=f"lantern{number}", collection="followed", vectors=False)
            return any(f"lantern{number} " in hit.snippet for hit in mill.submit(asked).result(timeout=30).results)
        except UnknownCollection:
            return False

    for ending, numbers in ((signal.SIGKILL, range(20)), (signal.SIGINT, range(20, 40))):
        with querymill.begin(*follow) as process:
            for number in numbers:
                write(folder, number)
            wait_for(lambda: all(is_found(number) for number in numbers[-FILES:]))  # noqa: B023  # called at once
            process.send_signal(ending)
            assert process.wait(timeout=LIMIT_S) == (0 if ending == signal.SIGINT else -ending)
    stored = {row["session_id"]: row["messages"] for row in mill.export("conversations", collection="followed")}
    assert {id_: [message["text"].split()[0] for message in messages] for id_, messages in stored.items()} == {
        f"w{file}": [f"lantern{number}" for number in range(file, 40, FILES)] for file in range(FILES)
    }
    finish_embedding(mill)
