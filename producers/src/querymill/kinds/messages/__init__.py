"""The `messages` kind: messages of chats, found by what they mean."""

from typing import Final

from querymill.kinds.kind import Kind
from querymill.kinds.messages.demo import STEPS
from querymill.kinds.messages.lines import LINES
from querymill.kinds.messages.options import options
from querymill.kinds.messages.screen import show
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

KIND: Final = Kind(
    "messages", MessageSearch, MessageResult, options=options, show=show, ingest=LINES, demo=STEPS, reads_histories=True
)
