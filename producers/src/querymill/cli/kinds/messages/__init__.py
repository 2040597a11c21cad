"""The `messages` kind: messages of chats, found by what they mean."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.messages.demo import STEPS
from querymill.cli.kinds.messages.options import options
from querymill.cli.kinds.messages.screen import show
from querymill.ingesting.kinds.messages import KIND as LOADABLE
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch

KIND: Final = Kind(LOADABLE, MessageSearch, MessageResult, options=options, show=show, demo=STEPS)
