"""Callers are told that their jobs have ended, by workers that are killed, at receivers that fail."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import redis
from openai import OpenAI

from querymill import Callback, EmbedTexts, Job, Querymill, Settings
from querymill.keys import STORED_AT, Keyring, Scope
from querymill.webhooks import verify
from querymill_shared.board.keys import CALLBACK_SECRETS
from querymill_shared.webhooks import written_secret
from tests.fakes.callback_receiver import CallbackReceiver, Told, hang, status
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until

MASTER = b"m" * 32


@pytest.fixture(scope="module")
def receiver() -> Iterator[CallbackReceiver]:
    with CallbackReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def environment(deployment: Deployment, receiver: CallbackReceiver) -> dict[str, str]:
    """A board of its own, for a worker that may call the receiver."""
    url = deployment.settings.redis_url.rpartition("/")[0] + "/4"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return deployment.environment | {
        "REDIS_URL": url, "QUERYMILL_LEASE_S": "1", "QUERYMILL_RING_GRACE_S": "1",
        "QUERYMILL_CALLBACK_ORIGINS": json.dumps([receiver.origin]),
        "QUERYMILL_CALLBACK_SECRET": written_secret(MASTER),
    }  # fmt: skip


@pytest.fixture(scope="module")
def settings(environment: dict[str, str]) -> Settings:
    return Settings.model_validate(
        {name.lower(): value for name, value in environment.items()}
        | {"querymill_callback_origins": json.loads(environment["QUERYMILL_CALLBACK_ORIGINS"])}
    )


@pytest.fixture(scope="module")
def worker(environment: dict[str, str]) -> Iterator[WorkerProcess]:
    with WorkerProcess(environment, queues="search,expand,ingest,embed") as worker:
        yield worker


@pytest.fixture
def mill(settings: Settings) -> Iterator[Querymill]:
    with Querymill(settings=settings) as connected:
        yield connected


def embed(mill: Querymill, receiver: CallbackReceiver) -> Job[Any]:
    texts = [{"id": "a", "text": f"text {time.monotonic_ns()}"}]
    asked = EmbedTexts.model_validate({"collection": "called", "texts": texts})
    receiver.told.clear()
    return mill.submit(asked, callback=Callback(url=receiver.url))


def is_signed(told: Told, secret: str) -> bool:
    """Ask another implementation."""
    OpenAI(api_key="none").webhooks.verify_signature(told.body.decode(), told.headers, secret=secret)
    return True


def delivery_of(mill: Querymill, job: Job[Any]) -> Job[Any]:
    until(lambda: bool(job.picture().record.deliveries), within_s=PATIENCE_S)
    return mill.job(job.picture().record.deliveries[-1])


def test_a_caller_is_told_once_with_a_signature_that_others_take(
    worker: WorkerProcess, mill: Querymill, receiver: CallbackReceiver
) -> None:
    receiver.answer = status(204)
    job = embed(mill, receiver)
    assert job.result(timeout=PATIENCE_S).job_id == job.id
    (told,) = receiver.wait_for(1)
    assert is_signed(told, written_secret(MASTER))
    message = verify(told.body, told.headers, secret=written_secret(MASTER))
    assert (message.data.job_id, message.data.state, message.id) == (job.id, "done", told.id)
    delivery = delivery_of(mill, job)
    assert delivery.result(timeout=PATIENCE_S).message_id == told.id
    assert len(receiver.told) == 1
    assert written_secret(MASTER).removeprefix("whsec_") not in worker.log
    assert receiver.url not in worker.log


def test_a_key_that_is_rotated_signs_with_both_secrets(
    worker: WorkerProcess, environment: dict[str, str], settings: Settings, receiver: CallbackReceiver
) -> None:
    receiver.answer = status(204)
    receiver.told.clear()
    keyring, querymill = Keyring.connect(settings), CommandLine(environment)
    try:
        key, written = keyring.add("backend", scopes=list(Scope), collections=["called"])
        secrets = [querymill("keys", "callback-secret", key.id).stdout.strip() for _ in range(2)]
        body = {"kind": "embed", "collection": "called", "texts": [{"id": "a", "text": "rotated"}]}
        with GatewayHere(settings) as gateway:
            accepted = httpx.post(
                f"{gateway.url}/v1/jobs:batch",
                json={"jobs": [{"request": body | {"callback": {"url": receiver.url}, "labels": {"user": "ada"}}}]},
                headers={"Authorization": f"Bearer {written}"},
                timeout=PATIENCE_S,
            )
        (part,) = accepted.json()["jobs"]
        (told,) = receiver.wait_for(1)
        for secret in secrets:
            assert is_signed(told, secret)
        message = verify(told.body, told.headers, secret=secrets)
        assert (message.data.job_id, message.data.labels) == (part["job"]["job_id"], {"user": "ada"})
        with pytest.raises(Exception, match="signature"):
            is_signed(told, written_secret(MASTER))
    finally:
        with redis.Redis.from_url(settings.redis_url) as server:
            server.delete(STORED_AT, CALLBACK_SECRETS)
        keyring.close()


@pytest.mark.nightly
def test_a_worker_that_dies_before_it_notes_the_answer_sends_the_same_message_again(
    worker: WorkerProcess, mill: Querymill, receiver: CallbackReceiver
) -> None:
    receiver.answer = hang
    job = embed(mill, receiver)
    receiver.wait_for(1)  # it has the message, and the worker waits for the answer
    worker.kill()
    receiver.answer = status(204)
    worker.start()
    first, second = receiver.wait_for(2)
    assert (first.id, first.body) == (second.id, second.body)
    delivery = delivery_of(mill, job)
    until(lambda: delivery.picture().record.state == "done", within_s=PATIENCE_S)
    assert delivery.picture().steps[0].counts.deaths == 1


@pytest.mark.nightly
def test_a_receiver_that_fails_is_told_again_later(
    worker: WorkerProcess, mill: Querymill, receiver: CallbackReceiver
) -> None:
    receiver.answer = status(503)
    job = embed(mill, receiver)
    receiver.wait_for(1)
    receiver.answer = status(200)
    first, second = receiver.wait_for(2)
    assert first.id == second.id
    assert second.at - first.at >= 4.5
    until(lambda: delivery_of(mill, job).picture().record.state == "done", within_s=PATIENCE_S)
