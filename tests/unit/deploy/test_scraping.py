"""Every configuration of Prometheus that `deploy` ships: the alerts know its jobs, and gateways see a key."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
SHIPPED = sorted(
    path.relative_to(DEPLOY).as_posix()
    for path in DEPLOY.rglob("*.yml")
    if "scrape_configs" in path.read_text(encoding="utf-8")
)


def scraped(shipped: str) -> dict[str, Any]:
    jobs = yaml.safe_load((DEPLOY / shipped).read_text(encoding="utf-8"))["scrape_configs"]
    return {job["job_name"]: job for job in jobs}


def test_there_is_one_for_each_way_to_run_a_fleet() -> None:
    assert SHIPPED == ["compose/prometheus.yml", "kubernetes/prometheus.yml", "prometheus/prometheus.yml"]


@pytest.mark.parametrize("shipped", SHIPPED)
def test_workers_and_gateways_are_scraped_as_the_jobs_that_alerts_name(shipped: str) -> None:
    jobs = scraped(shipped)
    assert jobs.keys() == {"querymill-worker", "querymill-gateway"}
    assert "credentials_file" in jobs["querymill-gateway"]["authorization"]
    rules = (DEPLOY / "prometheus" / "querymill.rules.yml").read_text(encoding="utf-8")
    matchers = re.findall(r'job=~"([^"]+)"', rules)
    assert matchers
    assert {name for name in jobs for matcher in matchers if not re.fullmatch(matcher, name)} == set()


def test_the_jobs_of_a_cluster_find_pods_by_labels_and_ports_that_the_manifests_have() -> None:
    for job, manifest in (("worker", "worker/worker.yaml"), ("gateway", "gateway.yaml")):
        text = (DEPLOY / "kubernetes" / "base" / manifest).read_text(encoding="utf-8")
        component, _, port = (
            rule["regex"] for rule in scraped("kubernetes/prometheus.yml")[f"querymill-{job}"]["relabel_configs"]
        )
        assert f"app.kubernetes.io/component: {component}" in text
        assert f"name: {port}, containerPort" in text
        assert "prometheus.io/scrape" not in text
