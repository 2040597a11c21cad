"""What `querymill doctor` says of callbacks."""

import pytest

from querymill.cli.callback_probe import callback_findings
from querymill_shared.settings import Settings
from querymill_shared.webhooks import written_secret

SECRET = written_secret(b"s" * 32)


def findings(**fields: object) -> list[tuple[str, bool | None, str]]:
    named = {f"querymill_callback_{name}": value for name, value in fields.items()}
    return [(found.value, found.ok, found.mend) for found in callback_findings(Settings.model_validate(named))]


def test_nothing_is_said_where_no_callback_may_be_asked_for() -> None:
    assert findings() == []


def test_each_origin_is_looked_at() -> None:
    assert findings(origins=["http://127.0.0.1:9"], secret=SECRET) == [("http://127.0.0.1:9", True, "")]
    (missing, _) = findings(origins=["http://127.0.0.1:9"])
    assert (missing[:2], missing[2].partition(":")[0]) == (("1 origins", False), "QUERYMILL_CALLBACK_SECRET")
    ((_, is_right, mend),) = findings(origins=["nowhere.invalid"], secret=SECRET)
    assert not is_right
    assert mend == "QUERYMILL_CALLBACK_ORIGINS: nowhere.invalid cannot be resolved from here"


def test_a_private_network_has_to_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("10.1.2.3", 443))])
    ((_, is_right, mend),) = findings(origins=["hooks.example"], secret=SECRET)
    assert (is_right, mend) == (False, "QUERYMILL_CALLBACK_NETWORKS: lists no network of hooks.example (10.1.2.3)")
    ((_, is_right, _),) = findings(origins=["hooks.example"], networks=["10.1.0.0/16"], secret=SECRET)
    assert is_right


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("origins", ["https://hooks.example/path"], "must be hosts such as"),
        ("networks", ["10.1.2.3/16"], "must be networks such as"),
        ("secret", "hunter2", "must be whsec_"),
    ],
)
def test_a_setting_that_breaks_a_rule_is_refused_without_its_value(name: str, value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as refused:
        findings(**{name: value})
    assert "hunter2" not in str(refused.value)
