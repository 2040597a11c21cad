"""The `conversations` kind: sessions of chats, found by what was talked about, and when."""

from typing import Final

from querymill.kinds.conversations.demo import STEPS
from querymill.kinds.conversations.lines import LINES
from querymill.kinds.conversations.options import options
from querymill.kinds.conversations.screen import show
from querymill.kinds.kind import Kind
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
