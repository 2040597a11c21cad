"""Where settings come from: the environment first, then files of secrets, then `.env` of the working folder."""

from pathlib import Path

import pytest

from querymill_shared.secret_files import UnreadableSetting, dotenv_settings, names_set
from querymill_shared.settings import Settings

NAMES = ("CHAT_MODEL", "CHAT_MODEL_FILE", "OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "REDIS_URL", "REDIS_URL_FILE")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_dot_env_is_read_and_the_environment_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("# ours\nCHAT_MODEL=from-file\nREDIS_URL='redis://there:1/0'\nUNKNOWN=1\n")
    monkeypatch.setenv("CHAT_MODEL", "from-environment")
    settings = Settings()
    assert (settings.chat_model, settings.redis_url) == ("from-environment", "redis://there:1/0")
    assert names_set(["REDIS_URL", "CHAT_MODEL", "OPENAI_API_KEY"]) == {"REDIS_URL", "CHAT_MODEL"}
    assert dotenv_settings() == {"REDIS_URL": "redis://there:1/0", "UNKNOWN": "1"}


def test_a_secret_may_stand_in_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "key").write_text("sk-öffne\n")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(folder / "key"))
    assert Settings().openai_api_key.get_secret_value() == "sk-öffne"
    assert names_set(["OPENAI_API_KEY"]) == {"OPENAI_API_KEY"}


def test_a_file_named_in_dot_env_is_found_by_a_process_in_another_folder(folder: Path) -> None:
    (folder / ".env").write_text("OPENAI_API_KEY_FILE=key\n")
    (folder / "key").write_text("sk")
    assert dotenv_settings() == {"OPENAI_API_KEY_FILE": str(folder / "key")}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"OPENAI_API_KEY": "a", "OPENAI_API_KEY_FILE": "key"},
            "OPENAI_API_KEY: give either OPENAI_API_KEY or OPENAI_API_KEY_FILE, not both",
        ),
        ({"OPENAI_API_KEY_FILE": "/no/such/key"}, "OPENAI_API_KEY_FILE: /no/such/key cannot be read (no such file)"),
        ({"OPENAI_API_KEY_FILE": "/"}, "OPENAI_API_KEY_FILE: / cannot be read (is a directory)"),
        # It may be the key itself, or an address.
        ({"OPENAI_API_KEY_FILE": "sk-sekret"}, "OPENAI_API_KEY_FILE: cannot be read (no such file)"),
        ({"DATABASE_URL_FILE": "postgresql://u:sekret@h"}, "DATABASE_URL_FILE: cannot be read (no such file)"),
        ({"OPENAI_API_KEY_FILE": "binary"}, "OPENAI_API_KEY_FILE: cannot be read (it is not UTF-8)"),
    ],
)
def test_what_cannot_be_read_is_named_without_its_value(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    (folder / "key").write_text("sekret")
    (folder / "binary").write_bytes(b"\xff\xfe sekret")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UnreadableSetting) as raised:
        Settings()
    assert str(raised.value) == said
