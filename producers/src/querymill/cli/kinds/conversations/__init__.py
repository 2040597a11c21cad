"""The `conversations` kind: sessions of chats, found by what was talked about, and when."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.conversations.demo import STEPS
from querymill.cli.kinds.conversations.options import options
from querymill.cli.kinds.conversations.screen import show
from querymill.ingesting.kinds.conversations import LINES
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

KIND: Final = Kind(
    "conversations",
    ConversationSearch,
    ConversationResult,
    options=options,
    show=show,
    ingest=LINES,
    demo=STEPS,
    reads_histories=True,
)
