"""Judge the relevance of passages with a rerank endpoint: Cohere's or Jina's API, or Text Embeddings Inference's."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import httpx2
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError
from typing_extensions import override

from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.bounded import BoundedClient
from querymill_workers.inference.client import (
    NoResponse,
    ProviderResponse,
    TimedOut,
    error_of_status,
    no_connection,
    rate_limit_headers,
)
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.parameters import Parameters
from querymill_workers.inference.ports import Judge
from querymill_workers.inference.replies import error_instead
from querymill_workers.inference.routes import transport_to
from querymill_workers.inference.work import Misfit
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.tokens import cut

RerankShape = Literal["cohere", "tei"]

#: A response is a few numbers. A longer one than this, in bytes, is not read to its end.
MAX_RESPONSE_BYTES = 1_000_000
#: Seconds that a request without a limit of its own may take.
TIMEOUT_S = 20.0
#: What no model and no filter objects to.
HARMLESS = "hello"
#: Relevance of each passage, by its index in the request.
RelevanceByIndex = dict[int, float]


class PassageRelevance(BaseModel):
    """The relevance of one passage. ``index`` is its index in the request.

    Entries come in the order of relevance, so their position does not stand for the index. But some servers leave out
    numbers that are 0.
    """

    index: Annotated[int, BeforeValidator(lambda index: 0 if index is None else index)] = 0
    relevance: Annotated[float, Field(validation_alias=AliasChoices("relevance_score", "score"))]


class JudgeReply(BaseModel):
    """Cohere's and Jina's response. That of Text Embeddings Inference is the bare list."""

    results: list[PassageRelevance]
    usage: Any = None

    @property
    def tokens(self) -> int | None:
        """Tokens that the endpoint says it read, or None if it does not say."""
        tokens = self.usage.get("total_tokens") if isinstance(self.usage, dict) else None
        return tokens if isinstance(tokens, int) else None


_BARE = TypeAdapter(list[PassageRelevance])


class RerankEndpoint:
    """Sends one request to the rerank endpoint at ``base_url`` + ``/rerank`` and checks the reply."""

    def __init__(self, client: httpx2.Client, base_url: str, *, model: str, shape: RerankShape) -> None:
        self._client = client
        self._url = f"{base_url.rstrip('/')}/rerank"
        self._model = model
        self._shape = shape
        self.parameters = Parameters()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, query: str, passages: Sequence[str], timeout_s: float) -> ProviderResponse[RelevanceByIndex]:
        """Have passages judged in one request.

        Raises:
            Limited, NoResponse, Rejected: See `post` and `read`.
            Misfit: The numbers are wrong; see `relevance_by_index`.
        """

        def send(sent: Mapping[str, Any], limit_s: float) -> ProviderResponse[RelevanceByIndex]:
            content, limits = post(self._client, self._url, sent, limit_s=limit_s)
            reply = read(content, shape=self._shape)
            return ProviderResponse(relevance_by_index(reply.results, count=len(passages)), reply.tokens, limits)

        return self.parameters.call(self._body(query, passages), send, timeout_s, texts=[query, *passages])

    def probe(self, timeout_s: float) -> None:
        """Have a harmless passage judged; see `Gateway`."""
        self.ask(HARMLESS, [HARMLESS], timeout_s)

    def _body(self, query: str, passages: Sequence[str]) -> dict[str, Any]:
        if self._shape == "tei":
            # Without truncation, one passage that is too long for the model fails the whole batch.
            return {"query": query, "texts": passages, "truncate": True}
        named = {"model": self._model} if self._model else {}
        return named | {"query": query, "documents": passages, "top_n": len(passages)}


class HttpJudge(Judge):
    """`Judge` by a rerank endpoint. The passages of one call are cut to ``passage_tokens`` tokens in total."""

    def __init__(self, endpoint: RerankEndpoint, gateway: Gateway[RelevanceByIndex], *, passage_tokens: int) -> None:
        self._endpoint = endpoint
        self._gateway = gateway
        self._passage_tokens = passage_tokens

    @override
    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        ids = list(passages)
        share = self._passage_tokens // len(ids)
        asked = cut(query, max_tokens=share)
        shown = [cut(text, max_tokens=share) for text in passages.values()]
        response = self._gateway.call_once(
            caller,
            self._passage_tokens,
            lambda timeout_s: self._endpoint.ask(asked, shown, timeout_s),
            parts=len(ids),
        )
        return {ids[index]: relevance for index, relevance in response.value.items()}, ProviderUsage(
            1, response.tokens or 0
        )


def open_endpoint(base_url: str, key: str) -> httpx2.Client:
    """Open a client for a rerank endpoint. It follows no redirects, because every request carries the key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return BoundedClient(
        transport=transport_to(base_url), timeout_s=TIMEOUT_S, max_bytes=MAX_RESPONSE_BYTES, headers=headers
    )


def post(client: httpx2.Client, url: str, body: Mapping[str, Any], *, limit_s: float) -> tuple[bytes, RateLimitHeaders]:
    """Send one request. Return the body, if it is complete within ``limit_s`` seconds, and the rate limit headers.

    Raises:
        Limited: HTTP 429.
        NoResponse: No response in time (`TimedOut`), or another error that may pass.
        Rejected: Another try would get the same status, or the response is a redirect.
    """
    try:
        response = client.post(url, json=body, timeout=limit_s)
    except httpx2.TimeoutException as error:
        raise TimedOut from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise no_connection(error) from error
    if not response.is_success:
        raise error_of_status(response.status_code, response.headers, body=_error_body(response))
    return response.content, rate_limit_headers(response.headers)


def _error_body(response: httpx2.Response) -> object:
    """Return what the endpoint says about an error, as JSON if it is."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return response.text


def read(content: bytes, *, shape: RerankShape) -> JudgeReply:
    """Parse a response of a shape.

    Raises:
        NoResponse: It does not have the shape.
    """
    try:
        return (
            JudgeReply(results=_BARE.validate_json(content))
            if shape == "tei"
            else JudgeReply.model_validate_json(content)
        )
    except ValidationError as error:
        raise error_instead(content) or NoResponse(f"the response does not have the {shape} shape") from error


def relevance_by_index(entries: Sequence[PassageRelevance], *, count: int) -> RelevanceByIndex:
    """Return the relevance by index. A passage that the endpoint left out is missing.

    Raises:
        Misfit: An index is out of range or repeated, or a relevance is outside 0 to 1. If the model uses another
            scale, all its numbers are wrong.
    """
    relevances: RelevanceByIndex = {}
    for entry in entries:
        if not 0 <= entry.index < count or entry.index in relevances:
            raise Misfit(
                f"rerank endpoint: invalid or repeated index {entry.index} in the response"
                f" (expected 0 to {count - 1}, once each)"
            )
        if not 0 <= entry.relevance <= 1:
            raise Misfit(f"rerank endpoint: relevance {entry.relevance} in the response (expected 0 to 1)")
        relevances[entry.index] = entry.relevance
    return relevances
