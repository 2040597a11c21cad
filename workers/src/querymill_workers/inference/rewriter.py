"""Rewording a question by a chat model."""

from collections.abc import Mapping

from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.ports import Caller
from querymill_workers.inference.prompts import turns
from querymill_workers.jobs.usage import Usage

#: The longest reply asked for, in tokens: a few questions, or (HyDE) a small table.
MOST_TOKENS = {"hyde": 200}
MOST_TOKENS_OTHERWISE = 120


class ChatRewriter:
    """`Rewriter` by a chat model and our prompts."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def rewrite(self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller) -> tuple[str, Usage]:
        """See `Rewriter.rewrite`."""
        most = MOST_TOKENS.get(method, MOST_TOKENS_OTHERWISE)
        return self._chat.ask(turns(method, question, terms), most_tokens=most, caller=caller)
