"""Telling callers, with an address by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from querymill.webhooks import verify
from querymill_shared.contracts.callbacks import EndedJob, JobEndedMessage, TellCaller, ToldCaller
from querymill_shared.webhooks import written_secret
from querymill_workers.services.ports import Answered
from querymill_workers.services.stores.callback_secrets import OwnSecrets
from tests.fixtures.world import World

SECRETS = [b"n" * 32, b"o" * 32]
AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
ENDED = EndedJob(job_id="0" * 32, kind="reports", collection="filings", state="done", created_at=AT, ended_at=AT)
TELL = TellCaller(collection="filings", url="https://hooks.example/secret", message=JobEndedMessage.of(ENDED))


@dataclass
class Address:
    """Answers what is next, the last one again and again."""

    answers: list[Answered]
    told: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)

    def tell(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        self.told.append((url, headers, body))
        return self.answers[min(len(self.told), len(self.answers)) - 1]


Telling = Callable[..., tuple[World, Address, str]]


@pytest.fixture
def telling(world: World) -> Telling:
    def tell(*answers: Answered, secrets: list[bytes] = SECRETS) -> tuple[World, Address, str]:
        address = Address(list(answers))
        world.with_ports(caller=address, callback_secrets=OwnSecrets(secrets))
        return world, address, world.run(TELL)

    return tell


def again(world: World, job_id: str, after_s: float) -> None:
    world.let_pass(after_s)
    world.ring(job_id, TELL, "tell")


def test_a_message_that_is_accepted_is_told_once(telling: Telling) -> None:
    world, address, job_id = telling(Answered(204, "hooks.example answered 204"))
    result = world.result(job_id)
    assert isinstance(result, ToldCaller)
    assert (result.status, result.message_id) == (204, TELL.message.id)
    ((url, headers, body),) = address.told
    assert url == TELL.url
    for secret in SECRETS:
        assert verify(body, headers, secret=written_secret(secret)) == TELL.message


def test_a_message_that_is_not_accepted_is_sent_again_as_it_was(telling: Telling) -> None:
    away = Answered(503, "hooks.example answered 503")
    world, address, job_id = telling(away, Answered(said="no answer"), Answered(200))
    (step,) = world.board.picture(job_id).steps
    assert (step.state, step.counts.outages, step.counts.failures) == ("waiting", 1, 0)
    assert step.attempts[0].reason == "hooks.example answered 503"
    again(world, job_id, 6)
    again(world, job_id, 36)
    assert world.board.picture(job_id).record.state == "done"
    assert len({(headers["webhook-id"], body) for _, headers, body in address.told}) == 1
    assert len(address.told) == 3


def test_an_address_that_is_gone_is_not_told_again(telling: Telling) -> None:
    world, address, job_id = telling(Answered(410, "hooks.example answered 410 Gone"))
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "hooks.example answered 410 Gone: the address wants no more")
    assert len(address.told) == 1


def test_without_a_secret_nothing_is_told(telling: Telling) -> None:
    world, address, job_id = telling(Answered(200), secrets=[])
    assert world.board.picture(job_id).record.state == "failed"
    assert address.told == []


def test_a_message_that_nobody_accepts_is_dead_and_can_be_replayed(telling: Telling) -> None:
    world, address, job_id = telling(Answered(500, "hooks.example answered 500"))
    again(world, job_id, world.ports.outage_patience_s + 1)
    assert world.board.picture(job_id).record.state == "dead"
    assert world.board.dead() == [job_id]
    address.answers = [Answered(200)]
    assert world.board.replay(job_id)
    again(world, job_id, 1)
    assert world.board.picture(job_id).record.state == "done"
    assert address.told[0][1]["webhook-id"] == address.told[-1][1]["webhook-id"]
