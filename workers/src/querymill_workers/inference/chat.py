"""Asking a chat model: for a text, or for an object of a given shape."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import json_repair
import openai
from pydantic import BaseModel, ValidationError

from querymill_workers.inference.client import UNREADABLE, reason_of, time_left_s
from querymill_workers.inference.prompts import Turn
from querymill_workers.ports import Caller, Unavailable, Usage

Shape = TypeVar("Shape", bound=BaseModel)

#: The same question gets the same answer; the penalty keeps small models from repeating table rows.
_SAMPLING: Mapping[str, Any] = {"temperature": 0.0, "frequency_penalty": 0.3}
#: Models of these families take no sampling parameters.
_REASONING = ("gpt-5", "o1", "o3", "o4")


class ChatModel:
    """One chat model of an OpenAI-compatible server."""

    def __init__(self, client: openai.OpenAI, model: str, *, timeout_s: float) -> None:
        self._client = client
        self._model = model
        self._timeout_s = timeout_s

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model

    def ask(
        self, turns: Sequence[Turn], *, most_tokens: int, caller: Caller, shape: type[BaseModel] | None = None
    ) -> tuple[str, Usage]:
        """Return the model's reply as it came; with a ``shape`` it is asked to be JSON of that shape.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: The provider's limit leaves no call before the caller's time is up.
        """
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=list(turns),  # type: ignore[arg-type]  # roles are our files'
                max_completion_tokens=most_tokens,
                timeout=time_left_s(caller, at_most=self._timeout_s),
                **self._options(shape),
            )
            text = reply.choices[0].message.content
        except (openai.OpenAIError, IndexError, *UNREADABLE) as error:
            raise Unavailable(f"chat model: {reason_of(error)}") from error
        if not isinstance(text, str) or not text.strip():
            raise Unavailable("chat model: empty reply")
        tokens = int(getattr(reply.usage, "total_tokens", 0) or 0)
        return text.encode("utf-8", "ignore").decode("utf-8"), Usage(1, tokens)

    def structured(
        self, turns: Sequence[Turn], shape: type[Shape], *, most_tokens: int, caller: Caller
    ) -> tuple[Shape, Usage]:
        """Return an object of the shape; a reply that is none gets one repair try, told what was wrong.

        Raises:
            Unavailable: No reply in time, or two that are not of the shape.
            Refused: The provider's limit leaves no call before the caller's time is up.
        """
        reply, usage = self.ask(turns, most_tokens=most_tokens, caller=caller, shape=shape)
        try:
            return _read(reply, shape), usage
        except ValidationError as error:
            told = [*turns, Turn(role="assistant", content=reply), Turn(role="user", content=_complaint(error))]
        reply, more = self.ask(told, most_tokens=most_tokens, caller=caller, shape=shape)
        try:
            return _read(reply, shape), usage + more
        except ValidationError as error:
            raise Unavailable("chat model: not the structure asked for, twice") from error

    def _options(self, shape: type[BaseModel] | None) -> dict[str, Any]:
        options = {} if self._model.startswith(_REASONING) else dict(_SAMPLING)
        if shape is not None:
            schema = {"name": shape.__name__, "schema": shape.model_json_schema(), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        return options


def _read(reply: str, shape: type[Shape]) -> Shape:
    return shape.model_validate(json_repair.loads(reply))


def _complaint(error: ValidationError) -> str:
    wrong = "; ".join(f"{'.'.join(map(str, part['loc'])) or 'reply'}: {part['msg']}" for part in error.errors()[:5])
    return f"That was not the JSON asked for: {wrong}. Reply with the corrected JSON object only."
