"""A provider that refuses some texts: real requests, real caches."""

import json
from typing import Any

import numpy as np

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.refusals import Refusal, embed_each
from querymill_workers.jobs.deadline import Caller
from tests.fakes.openai_server import Answer, OpenAIServer, embedded
from tests.fakes.vectors import vector_of
from tests.fixtures.inference import Provider

TOO_LONG = {"error": {"message": "maximum context length is 8192 tokens", "code": 400}}


def test_one_refused_text_costs_the_others_neither_their_vectors_nor_a_second_call(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    accepted: list[str] = []

    def picky(body: dict[str, Any]) -> Answer:
        if any("refused" in text for text in body["input"]):
            return Answer(json.dumps(TOO_LONG).encode(), status=400)
        accepted.extend(body["input"])
        return embedded(body)

    openai_server.script.embeddings = picky
    texts = [f"text {number}" for number in range(9)]
    texts[4] = "refused"
    found, _ = embed_each(
        texts, provider.embeddings(), input_type="passage", caller=Caller("acme", Lane.BULK)
    )  # fmt: skip
    assert found[4] == Refusal("embedding rejected: HTTP 400: maximum context length is 8192 tokens")
    for number, vector in enumerate(found):
        if number != 4:
            np.testing.assert_allclose(np.asarray(vector), vector_of(f"text {number}"), rtol=1e-6)
    assert sorted(accepted) == sorted(text for text in texts if text != "refused")
