"""The time zone that the command line sends."""

from pathlib import Path

import pytest

from querymill.cli.kinds.conversations.zone import in_zone, machine_locale, machine_zone


def linked(folder: Path, name: str) -> Path:
    target = folder / "zoneinfo" / name
    target.parent.mkdir(parents=True)
    target.touch()
    link = folder / "localtime"
    link.symlink_to(target)
    return link


def test_the_environment_comes_before_the_machine(tmp_path: Path) -> None:
    link = linked(tmp_path, "Asia/Shanghai")
    assert machine_zone({}, localtime=link) == "Asia/Shanghai"
    assert machine_zone({"TZ": ":Europe/Berlin"}, localtime=link) == "Europe/Berlin"


@pytest.mark.parametrize("name", ["UTC", "Etc/UTC", "CET-1CEST", "no zone"])
def test_utc_and_unknown_names_are_not_sent(tmp_path: Path, name: str) -> None:
    assert machine_zone({"TZ": name}, localtime=tmp_path) is None
    assert machine_zone({}, localtime=tmp_path) is None


def test_a_search_is_sent_with_the_zone_unless_it_says_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    assert in_zone({"query": "ships"}, with_file=False)["time_zone"] == "Asia/Shanghai"
    assert in_zone({"query": "ships", "time_zone": "UTC"}, with_file=False)["time_zone"] == "UTC"
    assert "time_zone" not in in_zone({"query": "ships"}, with_file=True)


@pytest.mark.parametrize(
    ("environment", "locale"),
    [
        ({"LANG": "de_AT.UTF-8"}, "de_AT"),
        ({"LANG": "en_US.UTF-8", "LC_TIME": "en_GB.UTF-8"}, "en_GB"),
        ({"LC_ALL": "ca_ES@valencia", "LC_TIME": "en_GB"}, "ca_ES"),
        ({"LANG": "en_US.UTF-8"}, None),
        ({"LANG": "C.UTF-8"}, None),
        ({"LC_ALL": "POSIX"}, None),
        ({}, None),
    ],
)
def test_the_locale_of_a_person_is_sent_and_that_of_any_machine_is_not(
    environment: dict[str, str], locale: str | None
) -> None:
    assert machine_locale(environment) == locale


def test_a_search_keeps_the_locale_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    assert in_zone({"query": "on 3/4"}, with_file=False)["locale"] == "en_GB"
    assert in_zone({"query": "on 3/4", "locale": "en-US"}, with_file=False)["locale"] == "en-US"
    assert "locale" not in in_zone({"query": "on 3/4"}, with_file=True)
