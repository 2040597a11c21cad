"""A chat model's reply, part by part."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from querymill_workers.inference.client import NoResponse, make_call, tokens_of
from querymill_workers.inference.complaints import hide_quotes, words_in
from querymill_workers.inference.replies import error_in, field_in, first_choice, text_in
from querymill_workers.jobs.faults import Refused

#: A longer reply, in characters, is cut off. This is far more than the highest token limit of a request.
MAX_REPLY_CHARS = 100_000


class ChatStream:
    """A reply in progress. ``asked`` holds the texts of its request, which no error quotes.

    ``renew`` gives the rest of the reply its time again, and is called with each part. ``fault`` is empty, or what the
    provider reported after it had sent a part of the reply.
    """

    def __init__(
        self, events: Iterable[Mapping[str, Any]], close: Callable[[], object], *, renew: Callable[[], object],
        asked: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._events = events
        self._close = close
        self._renew = renew
        self._asked = asked
        self._first: str | None = None
        self._finish: str | None = None
        self._length = 0
        self._has_words = False
        self.fault = ""
        self.tokens: int | None = None
        self.completion_tokens: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the model stopped by itself, and not at the token limit or by an error."""
        return self._finish != "length" and not self.fault

    def await_first(self) -> None:
        """Wait until the reply holds more than blank space.

        Raises:
            Limited, NoResponse, Rejected: The reply broke off before that, or is an error.
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
        self._close()

    def _read(self) -> str | None:
        text = make_call(self._next_text)
        # Some servers give no reason for the end. A reply that has words is a reply nevertheless.
        if text is None and self._finish is None and not self._has_words:
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
                self._renew()
                return text
        return None

    def _named(self, error: Exception, event: Mapping[str, Any]) -> str:
        said = hide_quotes(words_in(event), self._asked)
        return f"{error}: {said}" if said else str(error)

    def _text_of(self, event: Mapping[str, Any]) -> str:
        choice = first_choice(event)
        finish = choice.get("finish_reason")
        self._finish = finish if isinstance(finish, str) and finish else self._finish
        # A server that does not stream sends one whole message. One that does may repeat it at the end.
        said = field_in(choice, "delta") or (field_in(choice, "message") if not self._has_words else {})
        text = text_in(said.get("content"))
        self._length += len(text)
        if self._length > MAX_REPLY_CHARS:
            raise NoResponse(f"the reply is longer than {MAX_REPLY_CHARS} characters")
        return text
