"""The demo's step on messages: sessions are ingested, and three questions find the messages that mean the same."""

from pathlib import Path
from typing import Final

from querymill.cli.kind import DemoStep
from querymill.cli.kinds.messages.screen import show
from querymill.cli.sample import COLLECTION, ask, load_sample
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.messages import LINES
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

#: A question that shares no word with its answer, one in Chinese, and one by words and vectors together.
ASKED: Final = (
    MessageSearch(collection=COLLECTION, query="Which harbour did we choose for my yacht?", preset="related"),
    MessageSearch(collection=COLLECTION, query="植物长虫了怎么处理", preset="related"),
    MessageSearch(
        collection=COLLECTION, query="load_batch() 为什么慢", hybrid=True, include_context=True, preset="fuzzy"
    ),
)  # fmt: skip


def search_messages(mill: Querymill, sample: Path, console: Console) -> list[MessageResult]:
    """Load the sample's sessions (``sessions.jsonl``), ask, and print the hits; returns the results."""
    load_sample(mill, LINES, sample / "sessions.jsonl", console)
    return ask(mill, ASKED, show, console)


STEPS: Final = (DemoStep("Chat messages, by what they mean", search_messages),)
