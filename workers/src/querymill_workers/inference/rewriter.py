"""Rewrite a question with a chat model."""

from collections.abc import Mapping

from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.prompts import turns
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import Usage

#: Token limit of a reply: a few questions or, for HyDE, a small table.
MAX_TOKENS = 120
MAX_TOKENS_BY_METHOD = {"hyde": 200}


class ChatRewriter:
    """`Rewriter` by a chat model, with the prompts of this package."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    def rewrite(self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller) -> tuple[str, Usage]:
        """See `Rewriter.rewrite`."""
        max_tokens = MAX_TOKENS_BY_METHOD.get(method, MAX_TOKENS)
        return self._chat.ask(turns(method, question, terms), most_tokens=max_tokens, caller=caller)
