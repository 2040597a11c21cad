"""Requests as their model accepts them, learned from what it refuses.

OpenAI-compatible servers differ in what they accept: ``max_completion_tokens`` or ``max_tokens``, a JSON schema, a
temperature, a penalty. A request is sent with all that is wanted. What the provider refuses by name is replaced by an
older form or left out, and the request is repeated at once. What helped is remembered; see `Capabilities`.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from querymill_workers.inference.capabilities import Capabilities
from querymill_workers.inference.client import Limited, NoResponse, Rejected
from querymill_workers.inference.complaints import code_in, hide_quotes, parameters_in, texts_limit_in
from querymill_workers.jobs.faults import Refused

T = TypeVar("T")

#: Parameters without which a request still says what is asked.
DISPENSABLE: Final = frozenset((
    "encoding_format", "frequency_penalty", "input_type", "max_completion_tokens", "max_tokens", "reasoning_effort",
    "response_format", "stream", "stream_options", "temperature", "top_n", "truncate",
))  # fmt: skip
#: How a refused parameter is remembered: ``refuses max_completion_tokens``.
REFUSES: Final = "refuses "
#: How a parameter is remembered that a server drops without a word, and by how many tokens the reply tells it.
IGNORES: Final = "ignores "
_TOO_LONG_BY: Final = 16
#: How many texts a request may hold at most: ``takes at most 32 texts``.
_TAKES: Final = re.compile(r"takes at most (\d{1,5}) texts", re.ASCII)
#: How a model is remembered whose reasoning uses up the tokens of its reply, and how many it gets for that.
REASONS: Final = "needs room for reasoning"
REASONING_TOKENS: Final = 2_000
#: The model failed to write JSON this time. It does accept the format.
_NO_JSON: Final = "json_validate_failed"


class OutOfTokens(Refused):
    """The reply ended at its token limit before the first word of an answer."""

    code = "provider_refused"


class Parameters:
    """How one model at one address is asked, as far as the fleet has learned."""

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        self.capabilities = capabilities or Capabilities()

    @property
    def refused(self) -> list[str]:
        """The refused forms of parameters, such as ``max_completion_tokens`` and ``response_format json_schema``."""
        return sorted(what.removeprefix(REFUSES) for what in self.capabilities.known() if what.startswith(REFUSES))

    @property
    def ignored(self) -> list[str]:
        """The parameters that the server drops without a word."""
        return sorted(what.removeprefix(IGNORES) for what in self.capabilities.known() if what.startswith(IGNORES))

    @property
    def most_texts(self) -> int | None:
        """How many texts a request may hold, or None if no limit is known."""
        found = [_TAKES.fullmatch(what) for what in self.capabilities.known()]
        return min((int(most[1]) for most in found if most), default=None)

    @property
    def reasons(self) -> bool:
        """Whether the model's reasoning counts towards the tokens of a reply."""
        return REASONS in self.capabilities.known()

    def measure(self, sent: Mapping[str, Any], tokens: int | None) -> None:
        """Learn from the tokens of a reply whether the server keeps to the limit that was sent.

        Some servers know ``max_tokens`` only, and drop what they do not know without a word.
        """
        limit = sent.get("max_completion_tokens")
        if limit is not None and tokens is not None and tokens > limit + _TOO_LONG_BY:
            self.capabilities.learn([f"{IGNORES}max_completion_tokens"])

    def learn_size(self, error: Rejected, texts: int) -> None:
        """Learn from the refusal of a request how many texts it may hold, if the provider says so."""
        most = texts_limit_in(error.words, texts) if error.of_content else None
        if most is not None:
            self.capabilities.learn([f"takes at most {most} texts"])

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
            Rejected, NoResponse, Limited: The provider rejects the request for another reason, or does not answer it.
                The error has its words.
            OutOfTokens: The reply has no answer, even with room for reasoning.
            Exception: What else ``send`` raises.
        """
        until, new, once = time.monotonic() + timeout_s, set[str](), set[str]()
        while True:
            known = self.capabilities.known() | new
            sent = adapted(wanted, frozenset(known | once))
            try:
                response = send(sent, max(until - time.monotonic(), 0.001))
            except Rejected as error:
                named = _refused_of(error, sent)
                if not named or time.monotonic() >= until:
                    raise without_quotes(error, texts) from error
                (once if code_in(error.body) == _NO_JSON else new).update(named)
            except OutOfTokens:
                if REASONS in known or time.monotonic() >= until:
                    raise
                new.add(REASONS)
            except (NoResponse, Limited) as error:
                error.words = shown(error.words, texts)
                raise
            else:
                self.capabilities.learn(new)
                return response


def _refused_of(error: Rejected, sent: Mapping[str, Any]) -> set[str]:
    if not error.of_content:
        return set()
    json = code_in(error.body) == _NO_JSON and "response_format" in sent
    named = ["response_format"] if json else parameters_in(error.body, DISPENSABLE & sent.keys())
    return {f"{REFUSES}{_form(name, sent[name])}" for name in named}


def adapted(wanted: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the wanted parameters with an older form, or nothing, in place of each that is refused."""
    sent = dict(wanted)
    if REASONS in known and "max_completion_tokens" in sent:
        sent["max_completion_tokens"] += REASONING_TOKENS
        sent["reasoning_effort"] = "low"
    if f"{IGNORES}max_completion_tokens" in known and "max_completion_tokens" in sent:
        sent["max_tokens"] = sent.pop("max_completion_tokens")
    while name := next((name for name, value in sent.items() if f"{REFUSES}{_form(name, value)}" in known), None):
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


def shown(words: str, texts: Sequence[str]) -> str:
    """Return the words of a provider without what they quote of the texts, or "" if nothing else is left."""
    said = hide_quotes(words, texts)
    return said if said.strip("… ") else ""


def without_quotes(error: Rejected, texts: Sequence[str]) -> Rejected:
    """Return the error with what the provider said in its message. Nothing in it is from the texts."""
    words = shown(error.words, texts)
    return Rejected(f"{error}: {words}", of_content=error.of_content) if words else error
