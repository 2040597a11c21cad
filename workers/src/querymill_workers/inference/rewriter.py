"""Rewrite a question with a chat model."""

from collections.abc import Mapping, Sequence
from functools import partial

from typing_extensions import override

from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.ports import Rewriter
from querymill_workers.inference.prompts import standalone_turns, turns
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.reasoning import without_reasoning
from querymill_workers.text.replies import has_table, is_refusal

#: Token limits of a reply: a few questions; a hypothetical hit.
MAX_TOKENS = 120
MAX_HYDE_TOKENS = 200


class ChatRewriter(Rewriter):
    """`Rewriter` by a chat model, with the prompts of this package."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    @override
    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller
    ) -> tuple[str, ProviderUsage]:
        max_tokens = MAX_HYDE_TOKENS if method.startswith("hyde") else MAX_TOKENS
        return self._chat.ask(
            turns(method, question, terms),
            max_tokens=max_tokens,
            caller=caller.for_extras(),
            check=partial(usable, method),
        )

    @override
    def write_standalone(self, question: str, said: Sequence[SaidTurn], *, caller: Caller) -> tuple[str, ProviderUsage]:
        asked = standalone_turns(question, said)
        return self._chat.ask(
            asked, max_tokens=MAX_TOKENS, caller=caller.for_extras(), check=partial(usable, "standalone")
        )


def usable(method: str, reply: str) -> str:
    """Return a reply that a search can use, without the model's reasoning.

    Raises:
        Failed: It is a refusal, or not what the method asks for: a table for ``hyde``, else queries in ``<…>``.
    """
    said = without_reasoning(reply).strip()
    if not said or is_refusal(said):
        raise CallFailed("the chat model refused to reply")
    if method == "hyde" and not has_table(said):
        raise CallFailed("the chat model's reply held no table")
    return said
