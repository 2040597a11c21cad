"""The demo's step on conversations: sessions are taken in, and found again by what was talked about, and when."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from querymill.cli import ingest as ingest_command
from querymill.cli.terminal import Console
from querymill.client import Querymill
from querymill.ingestion import READERS, GoodLine
from querymill.kinds.conversations.screen import show_conversations
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

COLLECTION: Final = "demo"
#: The day from which the sample's dates are told.
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


def show_conversation_search(mill: Querymill, sample: Path, console: Console) -> list[ConversationResult]:
    """Load the sample's sessions (``conversations.jsonl``), ask, and print the hits; returns the results."""
    read = READERS["conversations"](sample / "conversations.jsonl", COLLECTION)
    ingest_command.follow(mill, [line for line in read if isinstance(line, GoodLine)], console)
    results = []
    for request in ASKED:
        result = mill.submit(request).result(timeout=request.deadline + 10)
        console.print(f"\n  {request.query}", style="bold")
        show_conversations(console, result, most=2)
        results.append(result)
    return results
