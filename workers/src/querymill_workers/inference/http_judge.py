"""Judging passages by a rerank endpoint, in Cohere's and Jina's shape or in Text Embeddings Inference's."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import httpx
from pydantic import AliasChoices, BaseModel, Field, StrictFloat, StrictInt, TypeAdapter, ValidationError

from querymill_workers.inference.account import Told
from querymill_workers.inference.client import Answer, NoAnswer, TimedOut, of_status, told_by
from querymill_workers.inference.gateway import Gateway
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import Usage
from querymill_workers.text.tokens import cut

RerankShape = Literal["cohere", "tei"]

#: An answer is a few numbers; one that is longer is not read to its end.
LONGEST_ANSWER = 1_000_000
#: Relevance by the place of the passage among those sent, from 0.
Judged = dict[int, float]


class Entry(BaseModel):
    """What an endpoint says of one passage: its place among those sent, from 0, and its relevance."""

    index: StrictInt
    relevance: Annotated[StrictFloat, Field(validation_alias=AliasChoices("relevance_score", "score"))]


class Reply(BaseModel):
    """Cohere's and Jina's answer; Text Embeddings Inference's is the bare list."""

    results: list[Entry]
    usage: Any = None

    @property
    def tokens(self) -> int | None:
        """What the endpoint says it read; None where it does not say."""
        tokens = self.usage.get("total_tokens") if isinstance(self.usage, dict) else None
        return tokens if isinstance(tokens, int) else None


_BARE = TypeAdapter(list[Entry])


class HttpJudge:
    """`Judge` by a rerank endpoint; ``base_url`` is what stands before ``/rerank``."""

    def __init__(
        self,
        client: httpx.Client,
        gateway: Gateway[Judged],
        base_url: str,
        *,
        model: str,
        shape: RerankShape,
        passage_tokens: int,
    ) -> None:
        self._client = client
        self._gateway = gateway
        self._url = f"{base_url.rstrip('/')}/rerank"
        self._model = model
        self._shape = shape
        self._passage_tokens = passage_tokens

    def judge(self, query: str, passages: Mapping[str, str], *, caller: Caller) -> tuple[Mapping[str, float], Usage]:
        """See `Judge.judge`."""
        ids = list(passages)
        share = self._passage_tokens // len(ids)
        shown = [cut(text, max_tokens=share) for text in passages.values()]
        body = self._body(cut(query, max_tokens=share), shown)

        def ask(timeout_s: float) -> Answer[Judged]:
            content, told = post(self._client, self._url, body, limit_s=timeout_s)
            reply = read(content, shape=self._shape)
            return Answer(checked(reply.results, count=len(ids)), reply.tokens, told)

        answer = self._gateway.call_once(caller, self._passage_tokens, ask)
        return {ids[index]: relevance for index, relevance in answer.value.items()}, Usage(1, answer.tokens or 0)

    def _body(self, query: str, passages: Sequence[str]) -> dict[str, Any]:
        if self._shape == "tei":
            # Without it a single passage too long for the model would cost the whole batch.
            return {"query": query, "texts": passages, "truncate": True}
        named = {"model": self._model} if self._model else {}
        return named | {"query": query, "documents": passages, "top_n": len(passages)}


def open_endpoint(key: str) -> httpx.Client:
    """Open the client of a rerank endpoint; it follows no redirect, for the key goes with every request."""
    return httpx.Client(headers={"Authorization": f"Bearer {key}"} if key else {}, follow_redirects=False)


def post(client: httpx.Client, url: str, body: Mapping[str, Any], *, limit_s: float) -> tuple[bytes, Told]:
    """Send one call and return its answer, whole within ``limit_s`` seconds, and what its headers told.

    Raises:
        Limited: 429.
        NoAnswer: No answer in time (`TimedOut`), or an error that may pass.
        Rejected: A status that the same call would meet again, or a redirect: it is not followed.
    """
    until = time.monotonic() + limit_s
    answer = bytearray()
    try:
        with client.stream("POST", url, json=body, timeout=limit_s) as response:
            if not response.is_success:
                raise of_status(response.status_code, response.headers)
            for part in response.iter_bytes():
                answer += part
                if len(answer) > LONGEST_ANSWER:
                    raise NoAnswer("an answer too long to be one")
                # httpx limits the wait for each part, not for all of them.
                if time.monotonic() > until:
                    raise TimedOut
            return bytes(answer), told_by(response.headers)
    except httpx.TimeoutException as error:
        raise TimedOut from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoAnswer(f"no connection ({type(error).__name__})") from error


def read(answer: bytes, *, shape: RerankShape) -> Reply:
    """Read an answer of a shape.

    Raises:
        NoAnswer: It is none.
    """
    try:
        return Reply(results=_BARE.validate_json(answer)) if shape == "tei" else Reply.model_validate_json(answer)
    except ValidationError as error:
        raise NoAnswer(f"not an answer of the {shape} shape") from error


def checked(entries: Sequence[Entry], *, count: int) -> Judged:
    """Return relevance by index; a passage that is left out is left out.

    Raises:
        Refused: An index that was not asked for or comes twice, or a relevance outside 0 to 1: a model whose
            scores are on another scale would be wrong in every number.
    """
    judged: Judged = {}
    for entry in entries:
        if not 0 <= entry.index < count or entry.index in judged:
            raise Refused(f"rerank endpoint: index {entry.index} answered, once each of 0 to {count - 1} was asked for")
        if not 0 <= entry.relevance <= 1:
            raise Refused(f"rerank endpoint: relevance {entry.relevance} answered, it must be from 0 to 1")
        judged[entry.index] = entry.relevance
    return judged
