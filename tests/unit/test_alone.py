"""Distributions that are of use without the rest of Querymill: each is installed alone, and its examples run."""

import re
import subprocess
from pathlib import Path

import pytest

from querymill_reading.child import INSTALL_HINT
from tests.fixtures import documents
from tests.fixtures.histories import write_json
from tests.fixtures.wheels import install_alone

PRODUCERS = Path(__file__).parents[2] / "producers"
READING, HISTORIES = PRODUCERS / "reading", PRODUCERS / "histories"
#: Prints which packages of ours there are.
OURS = "import pkgutil; print(sorted(m.name for m in pkgutil.iter_modules() if m.name.startswith('querymill')))"

CHATGPT = [
    {
        "title": "Ferries",
        "conversation_id": "c1",
        "create_time": 1700000000.0,
        "current_node": "b",
        "mapping": {
            "a": {"id": "a", "message": {"author": {"role": "user"}, "create_time": 1700000000.0,
                  "content": {"content_type": "text", "parts": ["How many ships?"]}}},
            "b": {"id": "b", "parent": "a", "message": {"author": {"role": "assistant"}, "create_time": 1700000001.0,
                  "content": {"content_type": "text", "parts": ["Nine."]}}},
        },
    }
]  # fmt: skip


def run(python: Path, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, and see nothing of the environment of these tests."""
    return subprocess.run(
        [str(python), "-I", *arguments], cwd=folder, env={}, capture_output=True, text=True, timeout=120, check=False
    )


def printed(python: Path, folder: Path, *arguments: str) -> str:
    done = run(python, folder, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def readme_of(member: Path) -> str:
    """Return the example that a README shows."""
    (example,) = re.findall(r"^```python\n(.*?)^```$", (member / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    return str(example)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of somebody who has a report and an export."""
    report = documents.pdf(documents.lines("The fleet counts nine ships."))
    (tmp_path / "annual-report.pdf").write_bytes(report)
    documents.write_docx(tmp_path / "plan.docx")
    write_json(tmp_path / "conversations.json", CHATGPT)
    return tmp_path


def test_documents_are_read_where_nothing_else_of_ours_is(folder: Path, tmp_path: Path) -> None:
    python = install_alone(READING, tmp_path / "env", extra="engines")
    assert printed(python, folder, "-c", OURS) == "['querymill_reading']\n"
    assert printed(python, folder, "-c", readme_of(READING)).endswith("1 The fleet counts nine ships.\n")
    example = str(READING / "examples" / "print_pages.py")
    pages = printed(python, folder, example, "annual-report.pdf", "plan.docx")
    assert "## Page 1\n\nThe fleet counts nine ships.\n" in pages
    assert "# Ferry timetable\n" in pages
    assert "| Tinn | 310 | 95 |\n" in pages
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    done = run(python, folder, example, "broken.pdf", "annual-report.pdf")
    assert (done.returncode, "nine ships" in done.stdout, done.stderr.partition(":")[0]) == (1, True, "broken.pdf")


def test_without_the_engines_a_document_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    python = install_alone(READING, tmp_path / "env")
    done = run(python, folder, str(READING / "examples" / "print_pages.py"), "annual-report.pdf")
    assert (done.returncode, done.stderr) == (1, f"annual-report.pdf: pypdfium2 is not installed; {INSTALL_HINT}\n")


def test_histories_are_read_where_nothing_else_of_ours_is(folder: Path, tmp_path: Path) -> None:
    python = install_alone(HISTORIES, tmp_path / "env")
    assert printed(python, folder, "-c", OURS) == "['querymill_histories']\n"
    said = "chatgpt: Ferries\n  user: How many ships?\n  assistant: Nine.\n"
    assert printed(python, folder, "-c", readme_of(HISTORIES)) == said
    example = str(HISTORIES / "examples" / "write_lines.py")
    (line,) = printed(python, folder, example, "conversations.json").splitlines()
    assert '"session_id": "c1"' in line
    assert "Nine." in line
    done = run(python, folder, example, "plan.docx", "missing.json")
    assert (done.returncode, done.stderr) == (
        1,
        "missing.json: No such file or directory\nplan.docx: not recognised\n",
    )


#: What a chat backend does that calls a gateway.
OVER_HTTP = """
import querymill
from querymill import Hits, Querymill, QuerymillError, ReportSearch, Unavailable, Settings
Settings(redis_url="redis://nowhere:6379/0")
with Querymill(url="http://127.0.0.1:1", api_key="qm_x") as mill:
    print(repr(mill))
    assert [querymill.__getattr__(name) for name in querymill.__all__]
import querymill.adapters.searching, querymill.ingesting.kinds
try:
    Querymill()
except QuerymillError as error:
    print(error)
import sys
print(sorted({"redis", "kombu", "fastapi"} & sys.modules.keys()))
"""


def test_the_client_over_http_needs_no_client_of_the_board(folder: Path, tmp_path: Path) -> None:
    python = install_alone(PRODUCERS, tmp_path / "env", extra="http")
    there, why, loaded = printed(python, folder, "-c", OVER_HTTP).splitlines()
    assert there == "<Querymill: http://127.0.0.1:1>"
    assert why.startswith("Querymill() on the board needs redis; in a checkout of Querymill, run pip install ")
    assert why.endswith("'./producers[board]'")
    assert loaded == "[]"
    assert run(python, folder, "-c", "import redis").returncode == 1
    command = run(python, folder, "-m", "querymill", "collections")
    assert (command.returncode, "the board's client, which is not installed" in command.stderr) == (1, True)
