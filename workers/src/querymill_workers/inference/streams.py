"""A chat model's reply, part by part."""

import openai
from openai.types.chat import ChatCompletionChunk

from querymill_workers.inference.bounded import renew
from querymill_workers.inference.client import NoResponse, make_call, tokens_of
from querymill_workers.jobs.faults import Refused

#: A longer reply, in characters, is cut off. This is far more than the highest token limit of a request.
MAX_REPLY_CHARS = 100_000


class ChatStream:
    """A reply in progress. It is complete only if the model says why it stopped."""

    def __init__(self, chunks: openai.Stream[ChatCompletionChunk]) -> None:
        self._chunks = chunks
        self._first: str | None = None
        self._finish: str | None = None
        self._length = 0
        self.tokens: int | None = None
        self.completion_tokens: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the model stopped by itself, and not at the token limit."""
        return self._finish != "length"

    def await_first(self) -> None:
        """Wait until the reply holds more than blank space.

        Raises:
            NoResponse: The reply broke off before that.
            Refused: The reply is empty.
        """
        heard = ""
        while not heard.strip():
            part = self._read()
            if part is None:
                raise Refused("chat model: empty reply", code="provider_refused")
            heard += part
        self._first = heard

    def next(self) -> str | None:
        """Return the next part, or None after the last.

        Raises:
            NoResponse: The reply broke off or is too long.
        """
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return self._read()

    def close(self) -> None:
        """Close the connection, whether or not the reply is complete."""
        self._chunks.close()

    def _read(self) -> str | None:
        text = make_call(self._next_text)
        if text is None and self._finish is None:
            raise NoResponse("the stream ended without a finish reason")
        return text

    def _next_text(self) -> str | None:
        for chunk in self._chunks:
            self.tokens = tokens_of(chunk) or self.tokens
            self.completion_tokens = tokens_of(chunk, "completion_tokens") or self.completion_tokens
            text = self._text_of(chunk)
            if text:
                renew(self._chunks)
                return text
        return None

    def _text_of(self, chunk: ChatCompletionChunk) -> str:
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        text = choice.delta.content
        if not isinstance(text, str):
            return ""
        self._length += len(text)
        if self._length > MAX_REPLY_CHARS:
            raise NoResponse(f"the reply is longer than {MAX_REPLY_CHARS} characters")
        return text.encode("utf-8", "ignore").decode("utf-8")
