"""Requests without the parameters that their model refuses.

OpenAI-compatible servers differ in what they accept: ``max_completion_tokens`` or ``max_tokens``, a JSON schema, a
temperature, a penalty. A request is sent with all that is wanted. What the provider refuses by name is replaced by an
older form or left out, and the request is repeated at once. What helped is remembered for the process.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from querymill_workers.inference.client import Rejected
from querymill_workers.inference.complaints import hide_quotes, parameters_in

T = TypeVar("T")

#: Parameters without which a request still says what is asked.
DISPENSABLE: Final = frozenset((
    "encoding_format", "frequency_penalty", "input_type", "max_completion_tokens", "max_tokens", "reasoning_effort",
    "response_format", "stream", "stream_options", "temperature", "top_n", "truncate",
))  # fmt: skip


class Parameters:
    """What one model at one address refuses, as far as this process has learned."""

    def __init__(self) -> None:
        self._refused: frozenset[str] = frozenset()

    @property
    def refused(self) -> list[str]:
        """The refused forms of parameters, such as ``max_completion_tokens`` and ``response_format json_schema``."""
        return sorted(self._refused)

    def call(
        self,
        wanted: Mapping[str, Any],
        send: Callable[[dict[str, Any], float], T],
        timeout_s: float,
        *,
        texts: Sequence[str],
    ) -> T:
        """Send a request with the wanted parameters, but without those that the model refuses.

        ``send`` gets the parameters and the seconds that are left of ``timeout_s``. ``texts`` are the caller's, and
        an error does not quote them.

        Raises:
            Rejected: The provider rejects the request for another reason, which the error says in its words.
            Exception: What else ``send`` raises.
        """
        until, refused = time.monotonic() + timeout_s, self._refused
        while True:
            sent = adapted(wanted, refused)
            try:
                response = send(sent, max(until - time.monotonic(), 0.001))
            except Rejected as error:
                named = parameters_in(error.body, DISPENSABLE & sent.keys()) if error.of_content else []
                if not named or time.monotonic() >= until:
                    raise _without_quotes(error, texts) from error
                refused |= {_form(name, sent[name]) for name in named}
            else:
                self._refused |= refused
                return response


def adapted(wanted: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """Return the wanted parameters with an older form, or nothing, in place of each that is refused."""
    sent = dict(wanted)
    while name := next((name for name, value in sent.items() if _form(name, value) in refused), None):
        value = sent.pop(name)
        if name == "max_completion_tokens":
            sent["max_tokens"] = value
        elif name == "response_format" and value["type"] == "json_schema":
            sent[name] = {"type": "json_object"}
        elif name == "stream":
            sent.pop("stream_options", None)
    return sent


def _form(name: str, value: Any) -> str:
    return f"{name} {value['type']}" if name == "response_format" else name


def _without_quotes(error: Rejected, texts: Sequence[str]) -> Rejected:
    """Return the error with what the provider said in its message. Nothing in it is from the texts."""
    words = hide_quotes(error.words, texts)
    return Rejected(f"{error}: {words}", of_content=error.of_content) if words.strip("… ") else error
