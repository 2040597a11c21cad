"""Judge the relevance of passages with a rerank endpoint: Cohere's or Jina's API, or Text Embeddings Inference's."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import httpx2
from typing_extensions import override

from querymill_workers.inference.account import RateLimitHeaders
from querymill_workers.inference.bounded import BoundedClient
from querymill_workers.inference.capabilities import Capabilities
from querymill_workers.inference.client import (
    Limited,
    NoResponse,
    ProviderResponse,
    Rejected,
    TimedOut,
    error_of_status,
    no_connection,
    rate_limit_headers,
)
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ledger import Bill, Ledger
from querymill_workers.inference.parameters import Parameters
from querymill_workers.inference.ports import Judge
from querymill_workers.inference.rankings import (
    RelevanceByIndex,
    Scale,
    read_ranking,
    relevance_by_index,
    scale_of,
)
from querymill_workers.inference.routes import transport_to
from querymill_workers.inference.work import CutShort
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.tokens import cut, estimate

RerankShape = Literal["cohere", "tei"]

#: A response is a few numbers. A longer one than this, in bytes, is not read to its end.
MAX_RESPONSE_BYTES = 1_000_000
#: Seconds that a request without a limit of its own may take.
TIMEOUT_S = 20.0
#: What no model and no filter objects to.
HARMLESS = "hello"


#: A question with a passage that plainly answers it and one that plainly does not: their scores tell the scale.
PLAIN_QUESTION: Final = "How many ships are there?"
PLAIN_PASSAGES: Final = ("There are nine ships.", "Bread is baked with flour.")

#: How a scale is remembered of a model, and how a relevance follows from a score on it. Scores from 0 to 1 that are
#: logits come in now and then, so any other finding counts more.
_SCALES: Final[Mapping[str, Scale]] = {
    "scores by logits": "logit",
    "scores from 0 to 100": "percent",
    "scores from 0 to 1": "probability",
}
_FORMULAS: Final[Mapping[Scale | None, str]] = {
    "probability": "",
    "logit": "1 / (1 + exp(−score)), because the endpoint's scores are logits",
    "percent": "score / 100, because the endpoint's scores go to 100",
    None: "score, taken for a relevance because all scores so far are from 0 to 1",
}


class RerankEndpoint:
    """Sends one request to the rerank endpoint at ``base_url`` + ``/rerank`` and checks the reply.

    ``base_url`` may be that whole URL as well.
    """

    def __init__(
        self,
        client: httpx2.Client,
        base_url: str,
        *,
        model: str,
        shape: RerankShape,
        capabilities: Capabilities | None = None,
    ) -> None:
        self._client = client
        address = base_url.rstrip("/")
        # Providers show the whole URL, so users set it.
        self._url = address if address.endswith(("/rerank", "/reranking")) else f"{address}/rerank"
        self.model = model
        self._shape = shape
        self.parameters = Parameters(capabilities)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def scale(self) -> Scale | None:
        """What the model's numbers are, or None if it is not known yet."""
        known = self.parameters.capabilities.known()
        return next((scale for what, scale in _SCALES.items() if what in known), None)

    @property
    def relevance_formula(self) -> str:
        """How a relevance follows from the model's number; see `Judge.relevance_formula`."""
        return _FORMULAS[self.scale]

    def ask(self, query: str, passages: Sequence[str], timeout_s: float) -> ProviderResponse[RelevanceByIndex]:
        """Have passages judged in one request.

        Raises:
            Limited, NoResponse, Rejected: See `post` and `read_ranking`.
            Misfit: The numbers are wrong; see `scale_of` and `relevance_by_index`.
        """

        def send(sent: Mapping[str, Any], limit_s: float) -> ProviderResponse[RelevanceByIndex]:
            until = time.monotonic() + limit_s
            content, limits = post(self._client, self._url, sent, limit_s=limit_s)
            ranking = read_ranking(content)
            scale = self._scale_of([entry.score for entry in ranking.entries], sent, until)
            relevances = relevance_by_index(ranking.entries, count=len(passages), scale=scale)
            return ProviderResponse(relevances, ranking.tokens, limits)

        return self.parameters.call(self._body(query, passages), send, timeout_s, texts=[query, *passages])

    def _scale_of(self, scores: Sequence[float], sent: Mapping[str, Any], until: float) -> Scale:
        """Return the scale of scores, and remember it.

        While it is not known, scores from 0 to 1 may be logits by chance. So a plain question is asked until there is
        an answer; without one, they are taken for relevances this time.
        """
        known = self.scale
        scale = scale_of(scores, known or "probability")
        if known is None and scale == "probability":
            plain = scores if sent["query"] == PLAIN_QUESTION else self._plain_scores(sent, until)
            if not plain:
                return scale
            scale = scale_of([*scores, *plain])
        self.parameters.capabilities.learn([what for what, of in _SCALES.items() if of == scale])
        return scale

    def _plain_scores(self, sent: Mapping[str, Any], until: float) -> list[float]:
        """Return the scores of `PLAIN_PASSAGES`, or none if the endpoint does not give them now."""
        plain = self._body(PLAIN_QUESTION, PLAIN_PASSAGES)
        asked = {name: value for name, value in plain.items() if name in sent}
        try:
            content, _ = post(self._client, self._url, asked, limit_s=max(until - time.monotonic(), 0.001))
            return [entry.score for entry in read_ranking(content).entries]
        except (Limited, NoResponse, Rejected):
            return []

    def probe(self, timeout_s: float) -> None:
        """Have a harmless passage judged; see `Gateway`."""
        self.ask(HARMLESS, [HARMLESS], timeout_s)

    def _body(self, query: str, passages: Sequence[str]) -> dict[str, Any]:
        if self._shape == "tei":
            # Without truncation, one passage that is too long for the model fails the whole batch.
            return {"query": query, "texts": passages, "truncate": True}
        named = {"model": self.model} if self.model else {}
        return named | {"query": query, "documents": passages, "top_n": len(passages)}


class HttpJudge(Judge):
    """`Judge` by a rerank endpoint. The passages of one call are cut to ``passage_tokens`` tokens in total."""

    def __init__(
        self, endpoint: RerankEndpoint, gateway: Gateway[RelevanceByIndex], ledger: Ledger, *, passage_tokens: int
    ) -> None:
        self._endpoint = endpoint
        self._gateway = gateway
        self._ledger = ledger
        self._passage_tokens = passage_tokens

    @property
    @override
    def relevance_formula(self) -> str:
        return self._endpoint.relevance_formula

    @override
    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        ids = list(passages)
        share = self._passage_tokens // len(ids)
        asked = cut(query, max_tokens=share)
        shown = [cut(text, max_tokens=share) for text in passages.values()]
        estimated = estimate(asked) + sum(map(estimate, shown))

        def add(bill: Bill, response: ProviderResponse[RelevanceByIndex]) -> None:
            bill.add(response.tokens or estimated)

        with self._ledger.billing(caller, self._endpoint.model, estimated) as bill:
            try:
                response = self._gateway.call_once(
                    caller,
                    self._passage_tokens,
                    lambda timeout_s: self._endpoint.ask(asked, shown, timeout_s),
                    parts=len(ids),
                )
            except CutShort as late:
                self._ledger.settle_later(bill, late, add)
                raise
            add(bill, response)
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
        Limited: A rate limit.
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
