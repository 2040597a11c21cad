"""Ask a chat model for a text or for an object of a given shape. Equal questions share one call."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import json_repair
import openai
from pydantic import BaseModel, ValidationError

from querymill_workers.inference.answer_ports import AnswerEnd, Hear
from querymill_workers.inference.bounded import renew
from querymill_workers.inference.capabilities import Capabilities
from querymill_workers.inference.carrying import then
from querymill_workers.inference.client import ProviderResponse, make_call, rate_limit_headers, tokens_of
from querymill_workers.inference.fleet_cache import FleetCache, StillComing, cache_key
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ledger import Bill, Ledger
from querymill_workers.inference.parameters import REASONING_TOKENS, OutOfTokens, Parameters
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.inference.replies import (
    AT_LIMIT,
    events_in,
    field_in,
    first_choice,
    read_object,
    reasoning_in,
    text_in,
    why_empty,
)
from querymill_workers.inference.streams import ChatStream
from querymill_workers.inference.work import CutShort
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.reasoning import without_reasoning
from querymill_workers.text.tokens import estimate

Shape = TypeVar("Shape", bound=BaseModel)
#: Returns a reply, or raises an error if it is of no use.
Check = Callable[[str], str]

#: A temperature of 0 makes replies repeatable. The penalty keeps small models from repeating table rows.
_SAMPLING: Mapping[str, Any] = {"temperature": 0.0, "frequency_penalty": 0.3}
_STREAMED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
#: Tokens that the role and the separators add to a message.
_TURN_TOKENS = 4
#: Why there is no reply where the settings name no model.
NO_MODEL = "chat model: none is configured (CHAT_MODEL is empty)"
#: A prompt that no model and no filter objects to, and the most tokens of its reply.
HARMLESS, PROBE_TOKENS = "Say hello.", 10


class OpenAIChat:
    """Sends one request to the chat endpoint and checks the reply."""

    def __init__(self, client: openai.OpenAI, model: str, capabilities: Capabilities | None = None) -> None:
        self._client = client
        self.model = model
        self.parameters = Parameters(capabilities)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def options(self, max_tokens: int, shape: type[BaseModel] | None) -> dict[str, Any]:
        """Return the parameters of a request, except its turns and its time limit."""
        options: dict[str, Any] = {"model": self.model, "max_completion_tokens": max_tokens, **_SAMPLING}
        if shape is not None:
            schema = shape.model_json_schema()
            named = {"name": schema["title"], "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        return options

    def max_tokens(self, options: Mapping[str, Any]) -> int:
        """Return the most tokens that a reply may take, with those of the model's reasoning."""
        return int(options["max_completion_tokens"]) + (REASONING_TOKENS if self.parameters.reasons else 0)

    def ask(self, turns: Sequence[ChatTurn], options: Mapping[str, Any], timeout_s: float) -> ProviderResponse[str]:
        """Send one request and return the whole reply.

        Raises:
            Limited, NoResponse, Rejected: See `make_call`.
            Refused: The reply is empty. Another try would not help.
        """

        def send(sent: Mapping[str, Any], limit_s: float) -> ProviderResponse[str]:
            def call() -> ProviderResponse[str]:
                raw = self._create(turns, sent, limit_s)
                reply = read_object(raw.http_response.content)
                written = tokens_of(reply, "completion_tokens")
                self.parameters.measure(sent, written)
                said = answer_in(first_choice(reply))
                return ProviderResponse(said, tokens_of(reply), rate_limit_headers(raw.headers), written)

            return make_call(call)

        return self.parameters.call(options, send, timeout_s, texts=[turn["content"] for turn in turns])

    def probe(self, timeout_s: float) -> None:
        """Ask for a word; see `Gateway`. An empty reply shows as well that the model is there."""
        with suppress(Refused, OutOfTokens):
            self.ask([ChatTurn(role="user", content=HARMLESS)], self.options(PROBE_TOKENS, None), timeout_s)

    def begin(
        self, turns: Sequence[ChatTurn], options: dict[str, Any], timeout_s: float
    ) -> ProviderResponse[ChatStream]:
        """Request a reply in parts, and wait for the first.

        Raises:
            Limited, NoResponse, Rejected: See `make_call`.
            Refused: The reply is empty. Another try would not help.
        """
        texts = [turn["content"] for turn in turns]

        def send(sent: Mapping[str, Any], limit_s: float) -> ProviderResponse[ChatStream]:
            raw = make_call(lambda: self._create(turns, sent, limit_s))
            response = raw.http_response
            reply = ChatStream(
                events_in(response.iter_bytes()), response.close, renew=partial(renew, response), asked=texts,
                measure=partial(self.parameters.measure, sent),
            )  # fmt: skip
            try:
                reply.await_first()
            except BaseException:
                reply.close()
                raise
            return ProviderResponse(reply, None, rate_limit_headers(raw.headers))

        return self.parameters.call(options | _STREAMED, send, timeout_s, texts=texts)

    def _create(self, turns: Sequence[ChatTurn], sent: Mapping[str, Any], limit_s: float) -> Any:
        """Send a request and return the library's raw response. The library's own reading is too strict."""
        create: Any = self._client.chat.completions.with_raw_response.create  # its type depends on the parameters
        return create(messages=list(turns), timeout=limit_s, **sent)


def answer_in(choice: Mapping[str, Any]) -> str:
    """Return the answer of a whole reply, without the model's reasoning.

    Raises:
        OutOfTokens: The reply ended at its token limit before a word of it.
        Refused: There is none for another reason.
    """
    message, finish = field_in(choice, "message"), choice.get("finish_reason")
    text = text_in(message.get("content"))
    said = without_reasoning(text)
    if said.strip():
        return said
    if finish in AT_LIMIT:
        raise OutOfTokens("chat model: the reply reached its token limit before a word of an answer")
    reasoned = bool(text.strip() or reasoning_in(message).strip())
    reason = why_empty(choice, finish if isinstance(finish, str) else None, reasoned=reasoned)
    raise Refused(f"chat model: {reason}", code="provider_refused")


def _accept(reply: str) -> str:
    return reply


class ChatModel:
    """A chat model of an OpenAI-compatible server, behind the fleet's rate limit and cache."""

    def __init__(
        self, endpoint: OpenAIChat, gateway: Gateway[str], cache: FleetCache, ledger: Ledger, *, scoped: bool = True
    ) -> None:
        self._endpoint = endpoint
        self._gateway = gateway
        self._cache = cache
        self._ledger = ledger
        self._scoped = scoped

    @property
    def model(self) -> str:
        """The model's name."""
        return self._endpoint.model

    def _check_named(self) -> None:
        """Raise Refused unless the settings name a model."""
        if not self.model:
            raise Refused(NO_MODEL, code="provider_refused")

    def ask(
        self,
        turns: Sequence[ChatTurn],
        *,
        max_tokens: int,
        caller: Caller,
        shape: type[BaseModel] | None = None,
        check: Check = _accept,
    ) -> tuple[str, ProviderUsage]:
        """Return the model's reply, unparsed. With a ``shape``, the model is asked for JSON of that shape.

        A reply that ``check`` raises an error for is not cached, and the error is raised.

        Equal questions share one reply, even while it is in flight, for as long as replies are cached.

        Raises:
            Unavailable: No reply, or none that could be read. A later call may succeed.
            Refused: No reply before the caller's deadline.
            Exception: What ``check`` raises.
        """
        self._check_named()
        options = self._endpoint.options(max_tokens, shape)
        prompt = _tokens_of_prompt(turns)
        tokens = prompt + self._endpoint.max_tokens(options)
        spent: list[ProviderUsage] = []

        def add(bill: Bill, response: ProviderResponse[str]) -> None:
            bill.add(*_split(response.tokens, response.output_tokens, prompt, response.value))

        def compute(keys: Sequence[str]) -> Iterator[Mapping[str, bytes]]:
            with self._ledger.billing(caller, self.model, tokens) as bill:
                try:
                    response = self._gateway.call_once(
                        caller, tokens, lambda timeout_s: self._endpoint.ask(turns, options, timeout_s)
                    )
                except CutShort as cut:
                    self._ledger.settle_later(bill, cut, add)
                    raise StillComing(
                        str(cut), {keys[0]: then(cut.reply, lambda late: check(late.value).encode())}
                    ) from cut
                add(bill, response)
            spent.append(ProviderUsage(1, response.tokens or 0))
            yield {keys[0]: check(response.value).encode()}

        key = _key(caller.collection if self._scoped else "", turns, options)
        values = self._cache.obtain([key], compute, lane=caller.lane, until=caller.expires_at)
        return values[key].decode(), sum(spent, ProviderUsage())

    def stream(self, turns: Sequence[ChatTurn], *, max_tokens: int, caller: Caller, hear: Hear) -> AnswerEnd:
        """Pass the model's reply to ``hear`` part by part. The reply is neither cached nor shared.

        Raises:
            Unavailable: No reply, or one that broke off. A later call may succeed.
            Refused: No reply before the caller's deadline, or an empty one.
        """
        options = self._endpoint.options(max_tokens, None)
        prompt = _tokens_of_prompt(turns)
        tokens = prompt + self._endpoint.max_tokens(options)

        def add(bill: Bill, reply: ChatStream) -> None:
            bill.add(*_split(reply.tokens, reply.completion_tokens, prompt, reply.said))

        with self._ledger.billing(caller, self.model, tokens) as bill:
            try:
                reply = self._gateway.listen(
                    caller, tokens, lambda timeout_s: self._endpoint.begin(turns, options, timeout_s), hear
                )
            except CutShort as cut:
                self._ledger.settle_later(bill, cut, add)
                raise
            add(bill, reply)
        return AnswerEnd(
            is_whole=reply.is_whole,
            fault=reply.fault,
            usage=ProviderUsage(1, reply.tokens or 0),
            completion_tokens=None if reply.tokens is None else reply.completion_tokens,
        )

    def structured(
        self, turns: Sequence[ChatTurn], shape: type[Shape], *, max_tokens: int, caller: Caller
    ) -> tuple[Shape, ProviderUsage]:
        """Return an object of the shape. If the reply is not one, the model gets one more try, with the errors.

        Raises:
            Unavailable: No reply. A later call may succeed.
            Refused: No reply before the caller's deadline, or two that do not have the shape.
        """
        return in_shape(lambda said: self.ask(said, max_tokens=max_tokens, caller=caller, shape=shape), turns, shape)


def in_shape(
    ask: Callable[[Sequence[ChatTurn]], tuple[str, ProviderUsage]], turns: Sequence[ChatTurn], shape: type[Shape]
) -> tuple[Shape, ProviderUsage]:
    """Ask for an object of the shape. If the reply is not one, ask once more, with the errors.

    Raises:
        Refused: Neither reply has the shape.
        Exception: What ``ask`` raises.
    """
    reply, usage = ask(turns)
    try:
        return _read(reply, shape), usage
    except ValidationError as error:
        corrected = [
            *turns,
            ChatTurn(role="assistant", content=reply),
            ChatTurn(role="user", content=_complaint(error)),
        ]
    reply, more = ask(corrected)
    try:
        return _read(reply, shape), usage + more
    except ValidationError as error:
        raise Refused("chat model: two replies without the requested structure", code="provider_refused") from error


def _tokens_of_prompt(turns: Sequence[ChatTurn]) -> int:
    return sum(estimate(turn["content"]) + _TURN_TOKENS for turn in turns)


def _split(tokens: int | None, written: int | None, prompt: int, said: str) -> tuple[int, int]:
    """Return the tokens that were sent and that the model wrote, estimated where the provider does not say."""
    written = estimate(said) if written is None else written
    return (prompt if tokens is None else max(tokens - written, 0)), written


def _key(scope: str, turns: Sequence[ChatTurn], options: Mapping[str, Any]) -> str:
    """Return the cache key of a question: a hash of everything that shapes the reply, including the prompt's text."""
    question = json.dumps([scope, list(turns), dict(options)], sort_keys=True)
    return cache_key("chat", scope, question)


def _read(reply: str, shape: type[Shape]) -> Shape:
    return shape.model_validate(json_repair.loads(reply))


def _complaint(error: ValidationError) -> str:
    wrong = "; ".join(f"{'.'.join(map(str, part['loc'])) or 'reply'}: {part['msg']}" for part in error.errors()[:5])
    return f"That was not the JSON asked for: {wrong}. Reply with the corrected JSON object only."
