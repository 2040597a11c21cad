"""Rewording a question by a chat model."""

from collections.abc import Mapping
from typing import Any

import openai

from querymill_workers.inference.client import UNREADABLE, reason_of
from querymill_workers.inference.prompts import turns
from querymill_workers.ports import Unavailable, Usage

#: The longest reply asked for, in tokens: a few questions, or (HyDE) a small table.
MOST_TOKENS = {"hyde": 200}
MOST_TOKENS_OTHERWISE = 120
#: The same question gets the same expansion; the penalty keeps small models from repeating table rows.
_SAMPLING: Mapping[str, Any] = {"temperature": 0.0, "frequency_penalty": 0.3}
#: Models of these families take no sampling parameters.
_REASONING = ("gpt-5", "o1", "o3", "o4")


class ChatRewriter:
    """`Rewriter` by the OpenAI chat protocol."""

    def __init__(self, client: openai.OpenAI, model: str) -> None:
        self._client = client
        self._model = model

    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], time_limit_s: float
    ) -> tuple[str, Usage]:
        """See `Rewriter.rewrite`."""
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=turns(method, question, terms),  # type: ignore[arg-type]  # roles are our files'
                max_completion_tokens=MOST_TOKENS.get(method, MOST_TOKENS_OTHERWISE),
                **({} if self._model.startswith(_REASONING) else _SAMPLING),
                timeout=time_limit_s,
            )
            text = reply.choices[0].message.content
        except (openai.OpenAIError, IndexError, *UNREADABLE) as error:
            raise Unavailable(f"chat model: {reason_of(error)}") from error
        if not isinstance(text, str) or not text.strip():
            raise Unavailable("chat model: empty reply")
        tokens = int(getattr(reply.usage, "total_tokens", 0) or 0)
        return text.encode("utf-8", "ignore").decode("utf-8"), Usage(1, tokens)
