"""The scaling of `deploy/kubernetes`: a load of two hours is replayed through the formula of Kubernetes."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from querymill_shared.queues import Queue
from tests.fixtures.autoscaler import SYNC_S, Autoscaler, Workers

KUBERNETES: Final = Path(__file__).parents[3] / "deploy" / "kubernetes"
#: How long a step of a queue takes, in seconds.
STEP_S: Final = {
    Queue.SEARCH: 1.5, Queue.EXPAND: 3.0, Queue.RERANK: 3.0, Queue.INGEST: 4.0, Queue.EMBED: 6.0, Queue.RANKS: 20.0,
}  # fmt: skip
#: From the creation of a pod until it works, in seconds.
READY_S: Final = 20
#: Two hours of a chat backend, a figure for each minute: the share of what the most workers can do. It is quiet, then
#: comes a rush with bursts, noon, a second rush, and a stop.
RUSHES: Final = 2
LOAD: Final = json.loads((Path(__file__).parent / "load.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Replay:
    """The numbers of pods after each decision, and how long the oldest step waited."""

    pods: Sequence[int]
    oldest_s: Sequence[float]

    @property
    def turns(self) -> int:
        """How often the direction changed."""
        steps = [after - before for before, after in pairwise(self.pods) if after != before]
        return sum(1 for before, after in pairwise(steps) if (before > 0) != (after > 0))


def scaled_objects() -> dict[str, Mapping[str, Any]]:
    """What `kubectl kustomize` makes of them: the patch for all is written over each."""
    (common,) = (
        yaml.safe_load(patch["patch"])["spec"]
        for patch in yaml.safe_load((KUBERNETES / "keda/kustomization.yaml").read_text(encoding="utf-8"))["patches"]
        if patch["patch"].startswith("apiVersion")
    )
    found = yaml.safe_load_all((KUBERNETES / "keda/scaling.yaml").read_text(encoding="utf-8"))
    return {each["metadata"]["name"].removeprefix("worker-"): common | each["spec"] for each in found}


def threads_of(queue: Queue) -> int:
    said = yaml.safe_load((KUBERNETES / "base" / queue / "kustomization.yaml").read_text(encoding="utf-8"))
    (container,) = yaml.safe_load(said["patches"][0]["patch"])["spec"]["template"]["spec"]["containers"]
    (threads,) = [int(each["value"]) for each in container["env"] if each["name"] == "THREADS"]
    return threads


def replay(queue: Queue, spec: Mapping[str, Any], *, bells_alone: bool = False) -> Replay:
    """Let the load come, second by second. With ``bells_alone`` only what waits is counted, as the length of a list."""
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    targets = [float(trigger["metadata"]["threshold"]) for trigger in spec["triggers"]]
    scaler = Autoscaler(behavior, targets, spec["minReplicaCount"], spec["maxReplicaCount"])
    workers = Workers(threads_of(queue), STEP_S[queue], READY_S)
    full_per_s = spec["maxReplicaCount"] * workers.threads / STEP_S[queue]
    chance, pods, oldest = random.Random(7), [1], []
    for now in range(60 * len(LOAD)):
        coming = LOAD[now // 60] * full_per_s
        # Steps come one by one, not evenly.
        workers.pass_second(now, max(0.0, chance.gauss(coming, math.sqrt(coming))))
        if now % SYNC_S == 0:
            work = workers.waiting + (0.0 if bells_alone else workers.running)
            workers.scale(now, scaler.decide(now, workers.pods, [work, 0.0 if bells_alone else workers.oldest_s(now)]))
            pods.append(workers.pods)
            oldest.append(workers.oldest_s(now))
    return Replay(pods, oldest)


@pytest.mark.parametrize("queue", Queue)
def test_the_workers_follow_the_load_and_do_not_thrash(queue: Queue) -> None:
    spec = scaled_objects()[queue]
    seen = replay(queue, spec)
    # Up and down for each rush; a burst within one may add a turn there and back.
    assert seen.turns <= 2 * RUSHES + 3, seen.pods
    assert max(seen.pods) >= 0.6 * spec["maxReplicaCount"]
    assert seen.pods[-1] <= spec["minReplicaCount"] + 1
    assert max(seen.oldest_s) <= 10 * STEP_S[queue], max(seen.oldest_s)


def test_a_burst_of_a_minute_is_met_at_once_and_its_workers_stay_for_a_while() -> None:
    spec = scaled_objects()[Queue.SEARCH]
    scaler = Autoscaler(spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"], [24.0, 5.0], 1, 40)
    pods, seen = 1, []
    for now in range(0, 900, SYNC_S):
        pods = scaler.decide(now, pods, [480.0 if 60 <= now < 120 else 10.0, 0.0])
        seen.append((now, pods))
    assert max(found for now, found in seen if now < 150) >= 15
    assert min(found for now, found in seen if 120 <= now < 360) >= 15
    assert seen[-1][1] == 1


def test_the_length_of_a_list_without_a_memory_would_thrash() -> None:
    """The control: what others scale by makes the same load turn many times as often."""
    spec = json.loads(json.dumps(scaled_objects()[Queue.SEARCH]))
    ours = replay(Queue.SEARCH, spec)
    spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"] = {
        "stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }  # fmt: skip
    assert replay(Queue.SEARCH, spec, bells_alone=True).turns > 5 * ours.turns
