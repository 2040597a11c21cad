"""The shapes of the OpenAI-compatible routes: requests, replies, parts of replies, errors.

What a chat program sends and a search has no use for, such as a temperature, is accepted and left alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, Final, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Scope

from querymill.agents.found import FoundHit
from querymill.agents.searches import ALL
from querymill.agents.stored_text import clean_line
from querymill.gateway.http import problems
from querymill.gateway.http.problems import KINDS, Problem
from querymill_shared.contracts.answer import ANSWER_TOKENS
from querymill_shared.contracts.submit_options import LABELS, MAX_LABELS

#: The paths of these routes. Their errors have OpenAI's shape.
COMPLETIONS, MODELS = "/v1/chat/completions", "/v1/models"
#: The longest and the shortest answer that the contract allows, in tokens.
_LEAST_TOKENS, _MOST_TOKENS = 16, 4_000
_CITED: Final = re.compile(r"\[(?P<number>\d{1,4})\]")
#: The type of an error by its status.
_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error", 403: "permission_error", 429: "rate_limit_error",
}  # fmt: skip


class OpenAIError(BaseModel):
    """What went wrong.

    Attributes:
        message: what is wrong, in words
        type: invalid_request_error, authentication_error, permission_error, rate_limit_error, or server_error
        param: the first field that breaks a rule; null: none does
        code: what is wrong as a word that programs read, such as model_not_found
    """

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAIErrorBody(BaseModel):
    """An error as it is answered.

    Attributes:
        error: what went wrong
    """

    error: OpenAIError


class Model(BaseModel):
    """A collection as a model. If it holds several kinds, each has a model of its own, too.

    Attributes:
        id: a collection, a collection and a kind, as `filings/reports`, or `all`
        created: always 0, as that is unknown
        owned_by: always `querymill`
    """

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "querymill"


class ModelList(BaseModel):
    """What the key may search.

    Attributes:
        data: the collections as models; with several models, `all` is one too
    """

    object: Literal["list"] = "list"
    data: list[Model]


class Message(BaseModel):
    """A message of the chat.

    Attributes:
        role: who wrote it; only messages of `user` and `assistant` are read
        content: its text, or its parts, of which the texts are read; null: none
    """

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(max_length=40)]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The text of the message."""
        if isinstance(self.content, str):
            return self.content.strip()
        texts = (part.get("text") for part in self.content or ())
        return "\n".join(text for text in texts if isinstance(text, str)).strip()


class StreamOptions(BaseModel):
    """How a reply is streamed.

    Attributes:
        include_usage: whether the stream ends with the tokens of the chat model
    """

    model_config = ConfigDict(extra="allow")

    include_usage: bool | None = None


class ResponseFormat(BaseModel):
    """The form of a reply: answers are texts."""

    type: Literal["text"]


class CompletionRequest(BaseModel):
    """A request.

    Attributes:
        model: a collection, a collection and a kind, as `filings/reports`, or `all`; empty: the default of the key
        messages: the chat; the last message of the user is the question, and those before it are its history
        stream: whether the answer comes as it is written, as Server-Sent Events; null: it does not
        stream_options: how it is streamed
        max_tokens: the longest answer, in tokens, where `max_completion_tokens` is not given
        max_completion_tokens: the longest answer, in tokens; outside of 16 to 4,000 the nearer of them, null: 500
        n: how many answers: 1 or null
        response_format: form of the answer: text
        metadata: labels of the jobs by name; what cannot be a label is left out
        user: the label `user` of the jobs
        expand: whether a chat model that writes answers also writes what is searched beside the question, which takes
            it 3 s at most; false: it does not
    """

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(max_length=200)] = ""
    messages: Annotated[list[Message], Field(min_length=1, max_length=2_000)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    response_format: ResponseFormat | None = None
    metadata: dict[str, Any] | None = None
    user: str | None = None
    expand: bool | None = True

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to tell the usage."""
        return self.stream_options is not None and self.stream_options.include_usage is True

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the jobs: the metadata, and the user. What cannot be a label is left alone."""
        given = {**(self.metadata or {}), **({"user": self.user} if self.user else {})}
        return dict(islice(_usable(given), MAX_LABELS))

    @property
    def answer_tokens(self) -> int:
        """The longest answer that is asked for, within what the contract allows."""
        asked = self.max_completion_tokens or self.max_tokens or ANSWER_TOKENS
        return min(max(asked, _LEAST_TOKENS), _MOST_TOKENS)


def _usable(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        with suppress(ValidationError):
            yield from LABELS.validate_python({name: value}).items()


class UrlCitation(BaseModel):
    """Where in the message a source is cited, and the source.

    Attributes:
        start_index: where the [n] begins in the content, in characters from 0
        end_index: where it ends, one after its last character
        title: title of the source
        url: address of the source
    """

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(BaseModel):
    """A citation.

    Attributes:
        url_citation: where a source is cited, and the source
    """

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class Usage(BaseModel):
    """The tokens of the chat model that wrote the answer, as its provider counts them.

    Attributes:
        prompt_tokens: tokens that it was sent
        completion_tokens: tokens that it wrote
        total_tokens: both together
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ReplyMessage(BaseModel):
    """The answer.

    Attributes:
        content: its text, with [n] where it cites a source
        refusal: always null
        annotations: a citation for every [n] that names a source
    """

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    """The one answer.

    Attributes:
        message: the answer
        finish_reason: stop: it is whole; length: it was cut, by its longest length or by the deadline
        logprobs: always null
    """

    index: Literal[0] = 0
    message: ReplyMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class Completion(BaseModel):
    """A reply.

    Attributes:
        id: id of the reply; no route takes it
        created: when the request came, in seconds since the epoch
        model: the model that was asked, or the default collection of the key
        choices: the one answer
        usage: tokens of the chat model; left out where its provider does not say
    """

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None
    querymill: Annotated[
        dict[str, Any], Field(description="the jobs, the sources by number, what is missing, whether it is a quotation")
    ]


def chunk_of(completion_id: str, created: int, model: str, choices: Sequence[Any], **more: Any) -> dict[str, Any]:
    """Return a part of a reply."""
    named = {"id": completion_id, "object": "chat.completion.chunk", "created": created, "model": model}
    return named | {"choices": list(choices)} | more


def delta_of(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """Return the choice of a part."""
    return {"index": 0, "delta": dict(delta), "finish_reason": finish_reason, "logprobs": None}


def annotations_of(text: str, sources: Sequence[FoundHit], links: Sequence[str]) -> list[Annotation]:
    """Return a citation for every [n] in a text that names a source."""
    return [
        Annotation(
            url_citation=UrlCitation(
                start_index=start, end_index=end, title=clean_line(sources[number - 1].title), url=links[number - 1]
            )
        )
        for number, start, end in _cited(text, len(sources))
    ]


def _cited(text: str, count: int) -> Iterator[tuple[int, int, int]]:
    for found in _CITED.finditer(text):
        if 1 <= int(found["number"]) <= count:
            yield int(found["number"]), found.start(), found.end()


def models_of(collections: Iterable[tuple[str, Sequence[str]]]) -> list[Model]:
    """Return the models: every collection, each of its kinds if it holds several, and ``all``."""
    ids = [
        name if kind is None else f"{name}/{kind}"
        for name, kinds in collections
        for kind in (None, *(kinds if len(kinds) > 1 else ()))
    ]
    return [Model(id=each) for each in (*ids, *([ALL] if len(ids) > 1 and ALL not in ids else ()))]


def is_openai_path(path: str) -> bool:
    """Whether a path is one of the compatible routes."""
    return path in (COMPLETIONS, MODELS) or path.startswith(f"{MODELS}/")


def error_of(problem: Problem) -> OpenAIError:
    """Return a problem in OpenAI's shape. ``code`` and ``param`` of the problem stand in its members."""
    kind = KINDS[problem.slug]
    first = problem.errors[0][0] if problem.errors else None
    type_ = _TYPES.get(kind.status, "server_error" if kind.status >= 500 else "invalid_request_error")
    return OpenAIError(
        message=problem.detail,
        type=type_,
        param=problem.more.get("param", first),
        code=problem.more.get("code") or problem.slug.replace("-", "_"),
    )


def status_of(status: int) -> int:
    """Return the status that OpenAI has for one of ours: a field that breaks a rule is 400 there."""
    return 400 if status == 422 else status


def respond(scope: Scope, problem: Problem) -> JSONResponse:
    """Answer a problem: in OpenAI's shape on the compatible routes, elsewhere as problem details."""
    if not is_openai_path(scope["path"]):
        return problems.respond(problem, scope.get("state", {}).get("request_id", ""))
    body = OpenAIErrorBody(error=error_of(problem))
    return JSONResponse(body.model_dump(), status_of(KINDS[problem.slug].status), problem.headers)
