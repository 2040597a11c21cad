"""The rules of `deploy/prometheus` with their real durations, and what Alertmanager tells of alerts together."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.fixtures.prometheus import RULES, alertmanager, need_prometheus, rules

CASES: Final = RULES.with_name("querymill.rules.test.yml")


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_prometheus()


def cases() -> list[dict[str, Any]]:
    """Return what is asked of each alert, and when."""
    return [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]


def test_each_alert_fires_after_its_time_and_not_before() -> None:
    run = subprocess.run(["promtool", "test", "rules", CASES.name], cwd=CASES.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert {case["alertname"] for case in cases() if case.get("exp_alerts")} == {rule["alert"] for rule in rules()}


@pytest.mark.nightly
@pytest.mark.parametrize("rule", [rule for rule in rules() if "for" in rule], ids=lambda rule: str(rule["alert"]))
@pytest.mark.parametrize("factor", [0.5, 2])
def test_another_duration_is_noticed(rule: dict[str, Any], factor: float, tmp_path: Path) -> None:
    changed = yaml.safe_load(RULES.read_text())
    (found,) = [each for group in changed["groups"] for each in group["rules"] if each["alert"] == rule["alert"]]
    found["for"] = f"{int(int(rule['for'].removesuffix('m')) * 60 * factor)}s"
    (tmp_path / RULES.name).write_text(yaml.safe_dump(changed))
    (tmp_path / CASES.name).write_text(CASES.read_text())
    run = subprocess.run(["promtool", "test", "rules", CASES.name], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0
    assert rule["alert"] in run.stdout + run.stderr


def send(at: str, *alerts: str, ended: bool = False) -> None:
    """Tell an Alertmanager of alerts as Prometheus does."""
    now = datetime.now(UTC)
    ends = {"endsAt": now.isoformat()} if ended else {}
    body = [
        {"labels": {"alertname": alert, "queue": "embed"}, "startsAt": (now - timedelta(minutes=1)).isoformat(), **ends}
        for alert in alerts
    ]
    sent = httpx.post(f"http://{at}/api/v2/alerts", json=body)
    assert sent.status_code == 200, sent.text


def test_what_follows_from_a_board_that_is_away_is_told_only_once_it_is_back(tmp_path: Path) -> None:
    with alertmanager(tmp_path, inhibits=True) as (at, webhook):
        send(at, "QuerymillBoardAway")
        webhook.await_told({"QuerymillBoardAway"})
        send(at, "QuerymillGatewayFails", "QuerymillProcessGone", "QuerymillNoWorker")
        webhook.await_told({"QuerymillNoWorker"})  # nothing but the board hides it
        # Groups are told in the order in which they came, so the other two would have been told by now or next.
        send(at, "QuerymillStepsWait")
        webhook.await_told({"QuerymillStepsWait"})
        assert {name for name, _ in webhook.told} == {"QuerymillBoardAway", "QuerymillNoWorker", "QuerymillStepsWait"}
        send(at, "QuerymillBoardAway", ended=True)
        webhook.await_told({"QuerymillBoardAway"}, status="resolved")
        webhook.await_told({"QuerymillGatewayFails", "QuerymillProcessGone"})
