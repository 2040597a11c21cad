"""The demo's step on messages: sessions are taken in, three questions find the messages that mean the same."""

from pathlib import Path
from typing import Final

from querymill.cli import ingest as ingest_command
from querymill.cli.terminal import Console
from querymill.client import Querymill
from querymill.ingestion import GoodLine, read_sessions
from querymill.kinds.messages.screen import show_messages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

#: In no word like its answer, in Chinese, and by words and vectors together.
ASKED: Final = (
    MessageSearch(collection="demo", query="Which harbour did we choose for my yacht?", preset="related"),
    MessageSearch(collection="demo", query="植物长虫了怎么处理", preset="related"),
    MessageSearch(
        collection="demo", query="load_batch() 为什么慢", hybrid=True, include_context=True, preset="fuzzy"
    ),
)  # fmt: skip


def show_message_search(mill: Querymill, sample: Path, console: Console) -> list[MessageResult]:
    """Load the sample's sessions (``sessions.jsonl``), ask, and print the hits; returns the results."""
    lines = [line for line in read_sessions(sample / "sessions.jsonl", "demo") if isinstance(line, GoodLine)]
    ingest_command.follow(mill, lines, console)
    results = []
    for request in ASKED:
        result = mill.submit(request).result(timeout=request.deadline + 10)
        console.print(f"\n  {request.query}", style="bold")
        show_messages(console, result, most=2)
        results.append(result)
    return results
