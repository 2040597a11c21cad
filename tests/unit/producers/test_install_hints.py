"""What is missing is installed from a checkout: each command names all the distributions that no index has."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from querymill.install_hints import WORKERS, install_command, install_hint
from querymill_histories import compressed
from querymill_reading import child

ROOT = Path(__file__).parents[3]


def project_of(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


PRODUCERS = project_of(ROOT / "producers")
OWN = {project_of(path.parent)["name"]: path.parent for path in ROOT.glob("**/pyproject.toml") if "project" in
       tomllib.loads(path.read_text(encoding="utf-8")) and ".venv" not in path.parts}  # fmt: skip


def needed(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """The distributions of ours that one needs, itself too."""
    project = project_of(OWN[name])
    asked = [
        *project.get("dependencies", ()),
        *(each for extra in extras for each in project["optional-dependencies"][extra]),
    ]
    found = {name}
    for requirement in asked:
        parts = re.match(r"(querymill[a-z-]*)(?:\[([^]]*)\])?", requirement)
        if parts is not None:
            of_extra = tuple(parts[2].split(",")) if parts[2] else ()
            found |= needed(parts[1], of_extra) if (parts[1], of_extra) != (name, extras) else set()
    return found


@pytest.mark.parametrize("extra", [*PRODUCERS["optional-dependencies"], WORKERS])
def test_a_command_installs_all_that_no_index_has(extra: str) -> None:
    command = install_command(extra)
    assert command in install_hint(extra)
    folders = [ROOT / path for path in re.findall(r"\./[a-z_/]+", command)]
    given = {project_of(folder)["name"] for folder in folders}
    asked = needed("querymill-workers") if extra == WORKERS else needed("querymill", (extra,))
    if "--find-links dist" in command:
        assert command.startswith("make wheels && ")
        members = re.search(r"^wheels:.*?\n\n", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M | re.S)
        assert members is not None
        assert "$(MEMBERS) deploy/chat_weights" in members[0]
        assert given == {"querymill"}
    else:
        assert given == asked
    assert (f"[{extra}]" in command) == (extra != WORKERS)


@pytest.mark.parametrize("hint", [compressed.INSTALL_HINT, child.INSTALL_HINT])
def test_what_stands_alone_is_installed_alone(hint: str) -> None:
    command = re.search(r"run pip install '\./([a-z/]+)\[([a-z]+)\]'$", hint)
    assert command is not None
    name = project_of(ROOT / command[1])["name"]
    assert needed(name, (command[2],)) == {name}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "producers" / "docs").rglob("*.md"))])
def test_a_command_of_a_page_installs_all_that_no_index_has(page: Path) -> None:
    for command in re.findall(r"pip install (\./[^`\n#]*)", page.read_text(encoding="utf-8")):
        asked = {project_of(ROOT / folder)["name"]: extras for folder, extras in _folders_of(command)}
        wanted = {own for name, extras in asked.items() for own in needed(name, extras)}
        assert wanted == set(asked), command


def _folders_of(command: str) -> list[tuple[str, tuple[str, ...]]]:
    found = re.findall(r"\./([a-z_/]+)(?:\[([a-z,-]+)\])?", command)
    return [(folder, tuple(extras.split(",")) if extras else ()) for folder, extras in found]


def test_no_text_asks_for_a_distribution_that_no_index_has() -> None:
    """README shows the one command that names a wheel of a folder."""
    asks = re.compile(r"pip install (?!--find-links)[^`\n]*(?<![./\w-])['\"]?querymill(?:\[|['\" \n]|$)", re.M)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("producers", "workers", "shared", "deploy", "README.md", "CONTRIBUTING.md")
        for path in ([ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".html", ".mjs", ".ts", ".toml") and "node_modules" not in path.parts
        for match in asks.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found
