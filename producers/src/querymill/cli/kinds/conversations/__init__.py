"""The `conversations` kind: sessions of chats, found by what was talked about, and when."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.conversations.demo import STEPS
from querymill.cli.kinds.conversations.options import options
from querymill.cli.kinds.conversations.screen import show
from querymill.ingesting.kinds.conversations import KIND as LOADABLE
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

KIND: Final = Kind(
    LOADABLE,
    ConversationSearch,
    ConversationResult,
    options=options,
    show=show,
    demo=STEPS,
)
