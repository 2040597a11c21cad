"""Alerts and panels choose by labels that exist, and the runbook has an entry for each alert."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from querymill_shared.metrics import VALUES
from tests.fixtures.prometheus import DEPLOY, rules

RUNBOOK = (DEPLOY / "docs" / "runbook.md").read_text(encoding="utf-8")
ALERTS = rules()


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in ALERTS)
    dashboard = json.loads((DEPLOY / "grafana" / "querymill.json").read_text(encoding="utf-8"))
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])


@pytest.mark.parametrize("expression", list(expressions()))
def test_an_expression_names_values_of_labels_that_exist(expression: str) -> None:
    for label, operator, values in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', expression):
        if label in VALUES:
            parts = values.split("|") if "~" in operator else [values]
            assert set(parts) <= set(VALUES[label]), (label, values)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_each_alert_has_an_entry_in_the_runbook(alert: dict[str, Any]) -> None:
    anchor = alert["alert"].lower()
    assert alert["annotations"]["runbook"] == f"deploy/docs/runbook.md#{anchor}"
    entry = RUNBOOK.partition(f"\n## {alert['alert']}\n")[2].partition("\n## ")[0]
    assert "**How it looks.**" in entry
    assert "**What mends it.**" in entry
    assert re.search(r"^    \S", entry, re.M), "no command"


def test_the_runbook_has_an_entry_for_nothing_else() -> None:
    assert re.findall(r"^## (\w+)$", RUNBOOK, re.M) == [alert["alert"] for alert in ALERTS]


def test_no_alert_is_inhibited_that_does_not_exist() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "alertmanager.yml").read_text(encoding="utf-8"))
    named = set(re.findall(r"Querymill\w+", json.dumps(config["inhibit_rules"])))
    assert named <= {alert["alert"] for alert in ALERTS}
