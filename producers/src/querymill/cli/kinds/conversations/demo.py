"""The demo's step on conversations: sessions are ingested, and found again by what was talked about, and when."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from querymill.cli.kind import DemoStep
from querymill.cli.kinds.conversations.screen import show
from querymill.cli.sample import COLLECTION, ask, load_sample
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.conversations import LINES
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

#: The day on which the sample's questions are asked.
SAMPLE_DAY: Final = datetime(2026, 6, 30, 9, tzinfo=UTC)
#: A time and a spelling mistake; Chinese with synonyms; a question about a session that is not found.
ASKED: Final = (
    ConversationSearch(
        collection=COLLECTION, query="What did we decide about the prodcut pages in March?", now=SAMPLE_DAY
    ),
    ConversationSearch(
        collection=COLLECTION, query="上周数据库连接池的超时问题是怎么解决的", expansion=True, now=SAMPLE_DAY
    ),
    ConversationSearch(
        collection=COLLECTION,
        query="the retry code",
        recent_sessions=("retry-zh",),
        why_not="css-print",
        now=SAMPLE_DAY,
    ),
)  # fmt: skip


def search_sessions(mill: Querymill, sample: Path, console: Console) -> list[ConversationResult]:
    """Load the sample's sessions (``conversations.jsonl``), ask, and print the hits; returns the results."""
    load_sample(mill, LINES, sample / "conversations.jsonl", console)
    return ask(mill, ASKED, show, console)


STEPS: Final = (DemoStep("Whole conversations, by what was talked about, and when", search_sessions),)
