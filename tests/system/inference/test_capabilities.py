"""What one worker learns of a model, all know: over a real board, for a week, and without it if need be."""

import json
from typing import Any

import redis

from querymill_shared.capabilities import KEPT_S, KEY, MAX_FINDINGS, findings, keep_findings
from querymill_workers.inference.capabilities import READ_EVERY_S, Capabilities
from querymill_workers.inference.client import Rejected
from querymill_workers.inference.parameters import Parameters
from tests.fakes.jobs import Clock
from tests.fixtures.inference import Provider

ADDRESS = "https://me:secret@models.example/v1"


def refusing_temperature(sent: dict[str, Any], limit_s: float) -> str:
    if "temperature" in sent:
        raise Rejected("HTTP 400", of_content=True, body={"message": "no temperature, please", "param": "temperature"})
    return "nine ships"


def capabilities(
    client: redis.Redis, *, address: str = ADDRESS, model: str = "m", clock: Clock | None = None
) -> Capabilities:
    return Capabilities(client, address=address, model=model, clock=clock or Clock())


def test_what_one_worker_learns_another_knows_at_once(provider: Provider) -> None:
    asked: list[dict[str, Any]] = []

    def send(sent: dict[str, Any], limit_s: float) -> str:
        asked.append(sent)
        return refusing_temperature(sent, limit_s)

    for _ in range(2):
        parameters = Parameters(capabilities(provider.client))
        assert parameters.call({"temperature": 0.0}, send, 9.0, texts=[]) == "nine ships"
    assert asked == [{"temperature": 0.0}, {}, {}]
    assert Parameters(capabilities(provider.client, model="other")).refused == []
    assert Parameters(capabilities(provider.client, address="https://elsewhere/v1")).refused == []


def test_a_finding_has_a_time_and_no_secret(provider: Provider) -> None:
    capabilities(provider.client).learn(["refuses temperature"])
    (found,) = findings(provider.client)
    assert (found.model, found.what) == ("m", "refuses temperature")
    assert "secret" not in found.address
    assert found.at > 1_700_000_000


def test_a_worker_that_runs_learns_from_others_after_a_while(provider: Provider) -> None:
    clock = Clock()
    one, other = capabilities(provider.client, clock=clock), capabilities(provider.client)
    assert one.known() == frozenset()
    other.learn(["refuses temperature"])
    assert one.known() == frozenset()
    clock.now += READ_EVERY_S
    assert one.known() == {"refuses temperature"}


def test_a_finding_is_forgotten_after_a_week(provider: Provider) -> None:
    clock = Clock()
    own = capabilities(provider.client, clock=clock)
    own.learn(["refuses temperature"])
    (field,) = provider.client.hkeys(KEY)
    provider.client.hset(KEY, field, 1_000)
    clock.now += KEPT_S
    assert own.known() == frozenset()
    assert findings(provider.client) == []
    keep_findings(provider.client, ADDRESS, "n", ["refuses top_n"])
    assert [json.loads(each)[1] for each in provider.client.hkeys(KEY)] == ["n"]


def test_garbage_on_the_board_costs_nothing(provider: Provider) -> None:
    provider.client.hset(KEY, mapping={"garbage": "x", '["a", "b"]': "1", '["a", "b", "c"]': "soon"})
    assert findings(provider.client) == []
    own = capabilities(provider.client)
    own.learn(["refuses temperature"])
    assert [each.what for each in findings(provider.client)] == ["refuses temperature"]


def test_findings_are_bounded(provider: Provider) -> None:
    keep_findings(provider.client, ADDRESS, "m", [f"refuses {number}" for number in range(MAX_FINDINGS)])
    keep_findings(provider.client, ADDRESS, "m", ["refuses one more"])
    assert len(findings(provider.client)) == MAX_FINDINGS


def test_a_board_that_is_away_costs_only_what_others_learned() -> None:
    with redis.Redis(port=9, socket_connect_timeout=0.1) as away:
        own = capabilities(away)
        own.learn(["refuses temperature"])
        assert own.known() == {"refuses temperature"}
