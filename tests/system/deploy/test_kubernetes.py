"""The manifests of `deploy/kubernetes`: fields exist, names lead somewhere, no pod has more rights than it needs."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest

from querymill_shared.queues import Queue
from tests.fixtures.keda import ScaledObject
from tests.fixtures.manifests import KUBERNETES, OVERLAYS, Manifest, manifests, of_kind, pods, settings_of
from tests.fixtures.short_forms import all_at_night

VERSION: Final = "1.37"
#: The secrets that the README tells to make, and the keys in each.
KEYS: Final = "../keys"
SECRETS: Final = {
    "keys": {"redis-url"},
    "migrate": {"database-url"},
    "gateway": {"redis-url", "celery-broker-url"},
    "worker": {"redis-url", "database-url", "openai-api-key", "celery-broker-url"},
}


def broken(objects: Iterable[Manifest]) -> list[str]:
    """What the schemas of Kubernetes refuse, unknown fields too."""
    found: list[str] = []
    for each in objects:
        try:
            kubernetes_validate.validate(each, VERSION, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{each['kind']} {each['metadata']['name']}: {error}")
    return found


def test_every_field_of_the_pod_for_keys_exists() -> None:
    assert [found["metadata"]["namespace"] for found in manifests(KEYS)] == ["querymill"]
    assert broken(manifests(KEYS)) == []


@pytest.mark.parametrize("overlay", all_at_night(OVERLAYS, short=[*OVERLAYS][-1:]))
def test_every_field_of_every_object_exists(overlay: str) -> None:
    known = [found for found in manifests(overlay) if found["kind"] != "ScaledObject"]
    assert len(known) > 20
    for found in of_kind(overlay, "ScaledObject").values():
        read = ScaledObject.model_validate(found)
        # The part of it that KEDA hands on to Kubernetes.
        behavior = read.spec.advanced.horizontal_pod_autoscaler_config.behavior
        spec = {"scaleTargetRef": {"kind": "Deployment", "name": "x"}, "maxReplicas": 2, "behavior": behavior}
        known.append(
            {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "x"}, "spec": spec}
        )
    assert broken(known) == []


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("Deployment", '"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'),
        ("Deployment", '"terminationGracePeriodSeconds": 30', '"terminationGracePeriodSeconds": "30"'),
        ("PodDisruptionBudget", '"unhealthyPodEvictionPolicy"', '"evictionPolicy"'),
        ("NetworkPolicy", '"policyTypes"', '"policyType"'),
    ],
)
def test_a_wrong_field_is_seen(kind: str, right: str, wrong: str) -> None:
    text = json.dumps([*of_kind("fixed", kind).values()])
    assert right in text
    assert broken(json.loads(text)) == []
    assert broken(json.loads(text.replace(right, wrong)))


@pytest.mark.parametrize("change", [{"cooldown": 3}, {"triggers": []}, {"maxReplicaCount": "3"}])
def test_a_wrong_field_of_a_scaled_object_is_seen(change: dict[str, Any]) -> None:
    found = json.loads(json.dumps(of_kind("autoscaled", "ScaledObject")["worker-search"]))
    ScaledObject.model_validate(found)
    found["spec"] |= change
    with pytest.raises(ValueError, match=next(iter(change))):
        ScaledObject.model_validate(found)


@pytest.mark.parametrize("overlay", [*OVERLAYS, KEYS])
def test_each_pod_has_no_more_rights_than_it_needs(overlay: str) -> None:
    seen = dict(pods(overlay))
    assert len(seen) == (1 if overlay == KEYS else 2 + len(Queue))
    for name, pod in seen.items():
        spec = pod["spec"]
        assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False), name
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not [volume for volume in spec["volumes"] if "hostPath" in volume]
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }, name  # fmt: skip
        assert container["resources"]["limits"].keys() == {"memory"}  # a limit of the processor makes calls late
        writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert writable == (["/tmp"] if name == "gateway" else []), name


@pytest.mark.parametrize("overlay", [*OVERLAYS, KEYS])
def test_secrets_are_files_of_the_role_that_needs_them(overlay: str) -> None:
    for name, pod in pods(overlay):
        role = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        (volume,) = [volume for volume in pod["spec"]["volumes"] if "secret" in volume]
        assert volume["secret"]["secretName"] == role
        (container,) = pod["spec"]["containers"]
        given = settings_of(overlay, container)
        files = {Path(value or "").name for variable, value in given.items() if variable.endswith("_FILE")}
        expected = SECRETS[role] if overlay == "rabbitmq" else SECRETS[role] - {"celery-broker-url"}
        assert files == expected, name
        assert not {variable for variable in given if variable.endswith(("_URL", "_KEY", "_URI"))} - {"OPENAI_BASE_URL"}
    page = (KUBERNETES / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"kubectl .*?(?=`|\n)", page)
    assert [line for line in commands if not re.search(r"--namespace querymill|kustomize|create namespace", line)] == []
    assert "REDIS_URL=" not in page
    for role, keys in SECRETS.items():
        assert f"create secret generic {role}" in page
        assert {key for key in keys if f"--from-file={key}" not in page and f"`{key}`" not in page} == set()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_within_the_manifests_lead_somewhere(overlay: str) -> None:
    templates = {name: pod["metadata"]["labels"] for name, pod in pods(overlay)}

    def chosen(labels: dict[str, str]) -> set[str]:
        return {name for name, has in templates.items() if labels.items() <= has.items()}

    for name, found in of_kind(overlay, "Deployment").items():
        assert chosen(found["spec"]["selector"]["matchLabels"]) == {name}
        (container,) = found["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
        assert {probe["port"] for probe in probes} == ports
        (spread,) = found["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert chosen(spread["labelSelector"]["matchLabels"]) == {name}
        assert not set(spread.get("matchLabelKeys", ())) & spread["labelSelector"]["matchLabels"].keys()
    for name, budget in of_kind(overlay, "PodDisruptionBudget").items():
        assert chosen(budget["spec"]["selector"]["matchLabels"]) == {name}
        assert budget["spec"]["maxUnavailable"] == 1
    for found in of_kind(overlay, "Service").values():
        assert chosen(found["spec"]["selector"]) == {"gateway"}
    scaled = of_kind(overlay, "ScaledObject")
    assert scaled.keys() == (set() if overlay == "fixed" else {f"worker-{queue}" for queue in Queue})
    for name, found in scaled.items():
        assert found["spec"]["scaleTargetRef"] == {"name": name}
        assert "replicas" not in of_kind(overlay, "Deployment")[name]["spec"]


def test_every_queue_has_workers_and_scales_by_its_own_figures() -> None:
    deployments, scaled = of_kind("autoscaled", "Deployment"), of_kind("autoscaled", "ScaledObject")
    for queue in Queue:
        pod = deployments[f"worker-{queue}"]["spec"]["template"]
        assert pod["metadata"]["labels"]["queue"] == queue
        threads = int(settings_of("autoscaled", pod["spec"]["containers"][0])["THREADS"] or 0)
        spec = scaled[f"worker-{queue}"]["spec"]
        assert spec["minReplicaCount"] >= 1
        work, age = (trigger["metadata"] for trigger in spec["triggers"])
        for figure in ("steps_running", "steps_waiting"):
            assert f'querymill_{figure}{{queue="{queue}"}}' in work["query"]
        assert f'querymill_step_oldest_seconds{{queue="{queue}"}}' in age["query"]
        assert float(work["threshold"]) <= threads
        assert {trigger["ignoreNullValues"] for trigger in (work, age)} == {"false"}


def test_the_policies_let_each_role_reach_what_it_needs_and_no_more() -> None:
    reached: dict[str, set[Any]] = {"migrate": set(), "gateway": set(), "worker": set(), "keys": set()}
    scraped: set[tuple[str, str]] = set()
    for name, policy in of_kind("rabbitmq", "NetworkPolicy").items():
        spec = policy["spec"]
        labels = spec["podSelector"].get("matchLabels", {})
        (expression,) = spec["podSelector"].get("matchExpressions") or [{"values": list(reached)}]
        roles = [labels.get("app.kubernetes.io/component")] if labels else expression["values"]
        for rule in spec.get("ingress", ()):
            if "monitoring" in json.dumps(rule["from"]):
                scraped |= {(role, port["port"]) for role in roles for port in rule["ports"]}
        if name == "nothing":
            assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        for rule in spec.get("egress", ()):
            for role in roles:
                reached[role] |= {port["port"] for port in rule["ports"]}
            assert "169.254.0.0/16" in json.dumps(rule["to"]) or name == "names"
    assert reached == {
        "migrate": {53, 5432, 27017}, "gateway": {53, 6379, 5671, 5672, 4318},
        "worker": {53, 6379, 5671, 5672, 5432, 27017, 443, 4318}, "keys": {53, 6379, 5671, 5672},
    }  # fmt: skip
    assert scraped == {("worker", "metrics"), ("gateway", "http")}


def test_a_gateway_stays_among_those_that_answer_while_the_board_is_away() -> None:
    (container,) = of_kind("fixed", "Deployment")["gateway"]["spec"]["template"]["spec"]["containers"]
    paths = {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}
    assert paths == {"/healthz"}
