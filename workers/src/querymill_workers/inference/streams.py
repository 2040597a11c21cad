"""A chat model's reply, part by part."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from querymill_workers.inference.client import NoResponse, make_call, tokens_of
from querymill_workers.inference.complaints import hide_quotes, words_in
from querymill_workers.inference.parameters import OutOfTokens
from querymill_workers.inference.replies import (
    AT_LIMIT,
    error_in,
    field_in,
    first_choice,
    is_withheld,
    reasoning_in,
    text_in,
    why_empty,
)
from querymill_workers.jobs.faults import Refused
from querymill_workers.text.reasoning import ReasoningFilter

#: A longer reply, in characters, is cut off. This is far more than the highest token limit of a request.
MAX_REPLY_CHARS = 100_000


class ChatStream:
    """A reply in progress, without the model's reasoning.

    ``asked`` holds the texts of its request, which no error quotes. ``renew`` gives the rest of the reply its time
    again, and is called with each part. ``measure`` gets the reply's tokens at its end. ``fault`` is empty, or what the
    provider reported after it had sent a part of the reply.
    """

    def __init__(
        self, events: Iterable[Mapping[str, Any]], close: Callable[[], object], *, renew: Callable[[], object],
        asked: Sequence[str] = (), measure: Callable[[int | None], object] = lambda _: None,
    ) -> None:  # fmt: skip
        self._events = events
        self._close = close
        self._renew = renew
        self._asked = asked
        self._measure = measure
        self._first: str | None = None
        self._finish: str | None = None
        self._length = 0
        self._parts: list[str] = []
        self._answer = ReasoningFilter()
        self._has_words = False
        self._has_reasoned = False
        self._last: Mapping[str, Any] = {}
        self._is_over = False
        self.fault = ""
        self.tokens: int | None = None
        self.completion_tokens: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the model stopped by itself, and not at the token limit or by an error."""
        return self._finish not in AT_LIMIT and not self.fault

    @property
    def said(self) -> str:
        """What the model has written so far, with its reasoning."""
        return "".join(self._parts)

    def await_first(self) -> None:
        """Wait until the reply holds more than blank space.

        Raises:
            Limited, NoResponse, Rejected: The reply broke off before that, or is an error.
            OutOfTokens: The reply ended at its token limit before that.
            Refused: The reply is empty.
        """
        heard = ""
        while not heard.strip():
            part = self._read()
            if part is None:
                raise self._emptiness()
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
        self._close()

    def _emptiness(self) -> Exception:
        if self._finish in AT_LIMIT:
            return OutOfTokens("chat model: the reply reached its token limit before a word of an answer")
        reason = why_empty(self._last, self._finish, reasoned=self._has_reasoned)
        return Refused(f"chat model: {reason}", code="provider_refused")

    def _read(self) -> str | None:
        text = make_call(self._next_text)
        # Some servers give no reason for the end. A reply that has words is a reply nevertheless.
        if text is None and self._finish is None and not self._has_words and not self._has_reasoned:
            raise NoResponse("the stream ended without a word and without a finish reason")
        return text

    def _next_text(self) -> str | None:
        for event in self._events:
            self.tokens = tokens_of(event) or self.tokens
            self.completion_tokens = tokens_of(event, "completion_tokens") or self.completion_tokens
            if error := error_in(event):
                if not self._has_words:
                    raise error
                self.fault = self._named(error, event)
                return None
            text = self._text_of(event)
            if text:
                self._has_words = self._has_words or bool(text.strip())
                return text
        return self._rest()

    def _rest(self) -> str | None:
        """Return what was held back of the answer, after the last event."""
        if self._is_over:
            return None
        self._is_over = True
        self._measure(self.completion_tokens)
        if is_withheld(self._finish) or self._finish == "error":
            self.fault = f"the provider ended it ({self._finish})"
        rest = self._answer.end()
        self._has_words = self._has_words or bool(rest.strip())
        return rest or None

    def _named(self, error: Exception, event: Mapping[str, Any]) -> str:
        said = hide_quotes(words_in(event), self._asked)
        return f"{error}: {said}" if said else str(error)

    def _text_of(self, event: Mapping[str, Any]) -> str:
        choice = first_choice(event)
        finish = choice.get("finish_reason")
        self._finish = finish if isinstance(finish, str) and finish else self._finish
        self._last = choice or self._last
        # A server that does not stream sends one whole message. One that does may repeat it at the end.
        said = field_in(choice, "delta") or (field_in(choice, "message") if not self._has_words else {})
        text, reasoning = text_in(said.get("content")), reasoning_in(said)
        self._length += len(text) + len(reasoning)
        self._parts += [reasoning, text]
        if self._length > MAX_REPLY_CHARS:
            raise NoResponse(f"the reply is longer than {MAX_REPLY_CHARS} characters")
        if text or reasoning:
            self._renew()
        answer = self._answer.read(text) if text else ""
        self._has_reasoned = (
            self._has_reasoned or bool(reasoning.strip()) or (bool(text.strip()) and not answer.strip())
        )
        return answer


class Ear:
    """Passes parts on to a caller until the caller has left."""

    def __init__(self, hear: Callable[[str], bool]) -> None:
        self._hear = hear
        self._lock = threading.Lock()
        self.has_left = False

    def hear(self, part: str) -> bool:
        """Pass a part on. Return False if the caller wants no more."""
        with self._lock:
            return not self.has_left and self._hear(part)

    def leave(self) -> None:
        """Pass nothing on from now on."""
        with self._lock:
            self.has_left = True
