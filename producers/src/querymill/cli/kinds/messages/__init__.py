"""The `messages` kind: messages of chats, found by what they mean."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.messages.demo import STEPS
from querymill.cli.kinds.messages.screen import show
from querymill.ingesting.kinds.messages import KIND as LOADABLE
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

HELP: Final = "Search the messages of chats; shows the hits and how similar they are."

KIND: Final = Kind(LOADABLE, MessageSearch, MessageResult, help=HELP, show=show, demo=STEPS)
