"""Each service runs with its own part of the world, and goes on from what other workers left on the board."""

import json
from typing import Any

import numpy as np
import pytest

from querymill_shared.board import Outcome
from querymill_shared.contracts.answer import AnswerQuestion, AnswerResult
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, pack_vector
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.rerank import Rerank, RerankResult
from querymill_workers.dispatch import run_step
from querymill_workers.services.flow import ServiceRequest, flow_of
from querymill_workers.services.ports import AnswerPorts, EmbedPorts, RerankPorts
from tests.fakes.narrow import narrowed
from tests.fixtures.world import World

HITS = [{"id": "a", "text": "nine ships", "score": 0.5}, {"id": "b", "text": "soup", "score": 0.4}]
EMBED = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})
RERANK = Rerank.model_validate({"query": "q", "collection": "c", "hits": HITS})
ANSWER = AnswerQuestion.model_validate({"query": "how many?", "collection": "c", "hits": HITS, "judge": True})


@pytest.mark.parametrize(
    ("request_", "protocol"),
    [
        (EMBED, EmbedPorts),
        (EMBED.model_copy(update={"into": "table"}), EmbedPorts),
        (RERANK, RerankPorts),
        (ANSWER, AnswerPorts),
    ],
    ids=["embed", "embed into the table", "rerank", "answer"],
)
def test_a_service_needs_no_more_than_its_own_ports(world: World, request_: ServiceRequest, protocol: type) -> None:
    ports = narrowed(world.ports, protocol)
    job_id = world.submit(request_)
    steps = list(request_.steps)
    while steps:
        claim = world.board.claim(job_id, steps.pop(0))
        assert claim is not None
        steps += [bell.step for bell in flow_of(request_).step(claim, ports)]
    assert world.board.picture(job_id).record.state == "done"


def test_a_service_needs_no_more_than_its_own_ports_at_the_deadline(world: World) -> None:
    cases: list[tuple[ServiceRequest, type]] = [(RERANK, RerankPorts), (ANSWER, AnswerPorts)]
    for request, protocol in cases:
        job_id = world.submit(request)
        flow_of(request).settle(world.board.picture(job_id), narrowed(world.ports, protocol))
        assert world.board.picture(job_id).record.state == "done"


def finish(world: World, job_id: str, step: str, **notes: object) -> None:
    """Close a step as another worker does: with notes as they lie on the board."""
    claim = world.board.claim(job_id, step)
    assert claim is not None
    assert world.board.finish(claim, Outcome(notes=json.loads(json.dumps(notes)))) is not None


def conclude(world: World, request: JobRequest, job_id: str) -> list[str]:
    return [bell.step for bell in run_step.conclude(world.board.picture(job_id), world.ports)]


def test_embedding_by_another_worker_is_concluded(world: World) -> None:
    job_id = world.submit(EMBED)
    vector = pack_vector(np.array([0.5, 0.25], np.float32).tobytes())
    usage = {"provider_calls": 1, "tokens": 2}
    finish(
        world, job_id, "embed",
        model="m", dimensions=2, vectors={"a": vector}, written=0, unchanged=0, usage=usage, later="ignored",
    )  # fmt: skip
    assert conclude(world, EMBED, job_id) == []
    result = world.result(job_id)
    assert isinstance(result, EmbedResult)
    assert (result.model, result.embedding("a"), result.usage) == ("m", (0.5, 0.25), usage)


def test_batches_judged_by_another_worker_are_combined(world: World) -> None:
    job_id = world.submit(RERANK)
    usage = {"provider_calls": 1, "tokens": 9}
    finish(world, job_id, "batch-01", judgements={"b": 1.0, "a": 0.25}, usage=usage, timing={"judge": 3.5}, later=1)
    assert conclude(world, RERANK, job_id) == []
    result = world.result(job_id)
    assert isinstance(result, RerankResult)
    assert [(hit.id, hit.relevance) for hit in result.results] == [("b", 1.0), ("a", 0.25)]
    assert (result.usage, result.stages[0].timing) == (usage, {"judge": 3.5})


def test_an_answer_written_by_another_worker_is_judged_and_shown(world: World) -> None:
    job_id = world.submit(ANSWER)
    written: dict[str, Any] = {
        "text": "Nine ships [1].",
        "citations": [{"number": 1, "id": "a", "page": None, "title": None}],
        "removed_citations": [],
        "language": "en",
        "passages": 2,
        "judgement": None,
    }
    finish(world, job_id, "answer", answer=written, is_whole=False, timing={}, usage={"provider_calls": 1, "tokens": 3})
    assert conclude(world, ANSWER, job_id) == ["judge"]
    grounded = {"grounded": 0.5, "relevant": 1.0, "complete": 0.25, "unsupported": ["Nine ships [1]."]}
    finish(world, job_id, "judge", judgement=grounded, timing={}, usage={"provider_calls": 1, "tokens": 4})
    assert conclude(world, ANSWER, job_id) == []
    result = world.result(job_id)
    assert isinstance(result, AnswerResult)
    assert result.answer is not None
    assert result.answer.model_dump(mode="json") == written | {"judgement": grounded, "quoted": False}
    assert [part.stage for part in result.degraded] == ["answer"]
    assert result.usage == {"provider_calls": 2, "tokens": 7}
