"""The `conversations` kind: sessions of chats, found by what was talked about, and when."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.conversations.demo import STEPS
from querymill.cli.kinds.conversations.screen import show
from querymill.cli.kinds.conversations.zone import in_zone
from querymill.ingesting.kinds.conversations import KIND as LOADABLE
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch

HELP: Final = (
    "Search sessions; shows how the query was understood, the hits, and what their scores are made of."
    "\n\nWithout --time-zone, the days of the query are those of this machine."
)

KIND: Final = Kind(
    LOADABLE,
    ConversationSearch,
    ConversationResult,
    help=HELP,
    read=in_zone,
    show=show,
    demo=STEPS,
)
