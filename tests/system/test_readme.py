"""The blocks of the README and of the pages for users, run one after the other on a real stack that holds nothing.

They are read from the pages. What a reader puts in is put in here: the address and the key of the gateway, the files in
capitals, and the ids that earlier commands printed.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from querymill import Querymill, Settings
from querymill_workers.postgres.migrate import migrate
from tests.fakes.answers import is_judging, judgement
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream, reworded
from tests.fakes.worker import WorkerProcess
from tests.fixtures import documents
from tests.fixtures.command_line import CommandLine, Run
from tests.fixtures.databases import own_database
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import gateway_process
from tests.fixtures.histories import claude_line, write_lines
from tests.fixtures.readme_blocks import NO_PROGRAM, RULES, blocks_of, numbered, why_not
from tests.fixtures.typescript import CLIENT
from tests.system.gateway.test_typescript import built

__all__ = ["built"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "producers" / "docs"
#: The pages with blocks, in an order in which each finds what it needs: once there is a key, HTTP needs one.
PAGES = (
    "tutorial", "how-to/install", "how-to/ingest-documents", "how-to/ingest-chats", "how-to/ingest-code",
    "how-to/watch", "how-to/search-reports", "how-to/search-messages", "how-to/search-conversations",
    "how-to/search-files", "how-to/search-modules", "how-to/search-everything", "how-to/own-hits", "how-to/stored",
    "how-to/evaluate", "how-to/ask-in-a-chat", "how-to/http", "how-to/adapters", "how-to/gateway", "how-to/python",
    "how-to/agents", "how-to/callbacks", "how-to/costs", "how-to/operate",
)  # fmt: skip
#: What the README has commands print; the page of HTTP has more.
SAID = ('"stored":1', "The fleet counts nine ships.")
#: The examples of all commands, which the unit tests of the commands read.
EXAMPLES = "reference/commands"
ADDRESS, KEY = "http://127.0.0.1:8080", "a key of the gateway"
NODE = shutil.which("node")
#: A block that takes longer has failed, in seconds.
LONGEST_S = 240
#: What the page of callbacks has its readers set for servers. No name resolves here: `querymill doctor` would say so.
CALLBACKS = {
    "QUERYMILL_CALLBACK_ORIGINS": '["hooks.example"]', "QUERYMILL_CALLBACK_SECRET": "whsec_" + "c2VjcmV0" * 6,
}  # fmt: skip
#: Prints the id of the first key.
FIRST_KEY = """querymill keys list --json | python -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])'"""
#: curl prints a problem and ends well; a reader sees that it is one.
STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'


@dataclass
class Reader:
    """Somebody who pastes the blocks into a shell, in one folder."""

    folder: Path
    environment: dict[str, str]
    gateway: str
    querymill: CommandLine
    said: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    ran: Counter[str] = field(default_factory=Counter)

    def read(self, page: Path) -> None:
        """Run the blocks of a page."""
        for at, language, unit in to_run(page, Counter()):
            self.ran[language] += 1
            self._run(f"{page.relative_to(ROOT)}, {at}", language, self._filled(unit))
        assert not self.failed, "\n\n".join(self.failed)

    def _run(self, place: str, language: str, text: str) -> None:
        done = self._ended(language, text)
        self.said.append(done.stdout)
        if done.returncode:
            self.failed.append(f"{place}:\n{text}\n{done.stdout[-2_000:]}\n{done.stderr[-2_000:]}")

    def _ended(self, language: str, text: str) -> Run:
        if language == "sh" and (words := plain_words(text)):
            return self.querymill(*words[1:], given="y\n")
        command = {
            "sh": lambda: ["bash", "-c", STRICT + text],
            "python": lambda: [sys.executable, "-c", text],
            "json": lambda: [sys.executable, "-c", "import json, sys; json.loads(sys.argv[1])", text],
            "ts": lambda: [str(NODE), "--import", "./render.mjs", "--input-type=module", "--eval", text],
        }[language]()
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, input="y\n", capture_output=True, text=True,
            timeout=LONGEST_S,
            check=False,
        )  # fmt: skip

    def _filled(self, text: str) -> str:
        """Put in what a reader puts in."""
        values: dict[str, Callable[[], str]] = {
            ADDRESS: lambda: self.gateway,
            KEY: lambda: self._printed(r"qm_[0-9a-f]{12}_[\w-]{43}"),
            "--why-not ID": lambda: f"--why-not {self._report()}",
            "rotate ID": lambda: f'rotate "$({FIRST_KEY})"',
            "callback-secret ID": lambda: f'callback-secret "$({FIRST_KEY})"',
            "keys budget ID": lambda: f'keys budget "$({FIRST_KEY})"',
            "drop messages": lambda: "drop messages --yes",  # it asks a person, and there is none
            "show conversations SESSION": lambda: f"show conversations {self._session()['id']}",
            "--around MESSAGE": lambda: f"--around {self._session()['messages'][0]['message_id']}",
        }
        for written, value in values.items():
            if written in text:
                text = text.replace(written, value())
        return text

    def _printed(self, pattern: str) -> str:
        """Return what an earlier command printed first of all."""
        return next(str(found) for said in self.said for found in re.findall(pattern, said))

    def _report(self) -> str:
        with Querymill(settings=Settings(redis_url=self.environment["REDIS_URL"])) as mill:
            return mill.list("reports", collection="tutorial").documents[0].id

    def _session(self) -> dict[str, Any]:
        settings = Settings(redis_url=self.environment["REDIS_URL"])
        with Querymill(settings=settings) as mill:
            id_ = mill.list("conversations", collection="chats").documents[0].id
            return {"id": id_, **mill.show("conversations", id_, collection="chats")}


def to_run(page: Path, left_out: Counter[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what is run of a page: where it stands, its language, its text. Count what is left out, by the reason."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    left_out.update(why for block in blocks for why in block.left_out)
    for at, block, unit in numbered(blocks):
        why = why_not(unit) if block.language == "sh" and not block.is_script else ""
        if why:
            left_out[why] += 1
        else:
            yield str(at), block.language, unit


def plain_words(command: str) -> list[str]:
    """Return the words of a command of ours that needs no shell, or none: then its imports need not be loaded anew."""
    if set("|<>$;&*?`\n") & set(command):
        return []
    words = shlex.split(command, comments=True)
    return words if words and Path(words[0]).name == "querymill" else []


@pytest.fixture
def reader(
    deployment: Deployment, database_url: str, openai_server: OpenAIServer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Reader]:  # fmt: skip
    """A reader whose stack holds nothing, and whose chat model knows every prompt."""
    openai_server.script.chat, openai_server.script.is_well = replied, True
    folder = tmp_path / "fresh"
    put_in(folder)
    monkeypatch.chdir(folder)
    board = deployment.settings.redis_url.removesuffix("/2") + "/11"
    with psycopg.connect(database_url, autocommit=True) as connection, own_database(connection) as name:
        database = f"{database_url.rsplit('/', 1)[0]}/{name}"
        migrate(database)
        own = deployment.environment | {"REDIS_URL": board, "DATABASE_URL": database}
        (folder / ".env").write_text("".join(f"{key}={value}\n" for key, value in own.items()))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with redis.Redis.from_url(board) as server:
            server.flushdb()
            with WorkerProcess(own | CALLBACKS), gateway_process(own | CALLBACKS) as gateway:
                environment = os.environ | own | {"PATH": path, "HOME": str(folder / "home"), "COLUMNS": "160"}
                yield Reader(folder, environment, gateway.url, CommandLine(environment, longest_s=LONGEST_S))
            server.flushdb()


def replied(request: dict[str, Any]) -> Answer:
    """Expand, judge and answer."""
    if is_judging(request):
        return chat_answer(judgement())
    try:
        return reworded(request)
    except ValueError:
        return chat_stream("The fleet counts nine ships [1].") if request.get("stream") else chat_answer("Nine [1].")


def put_in(folder: Path) -> None:
    """Make the files that the blocks name in capitals, and the folders."""
    (folder / "annual-reports").mkdir(parents=True)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "deploy").symlink_to(ROOT / "deploy")
    (folder / "annual-reports" / "year.pdf").write_bytes(documents.pdf(documents.lines("How margins develop")))
    documents.write_docx(folder / "annual-reports" / "ferries.docx")
    sample = Path(str(resources.files("querymill_embedded") / "sample"))
    for name, written in {"REPORTS": "reports", "SESSIONS": "sessions", "CODE": "modules"}.items():
        shutil.copy(sample / f"{written}.jsonl", folder / f"{name}.jsonl")
    write_lines(folder / "QUESTIONS.jsonl", [{"_id": "q1", "query": "How many ships?"}])
    turn = {"role": "user", "text": "What was the revenue of Nordhav in 2020?"}
    (folder / "TURNS.json").write_text(json.dumps([turn]))
    write_lines(folder / "TEXTS.jsonl", [{"_id": "t1", "text": "nine ships"}])
    hits = [{"id": "a", "text": "The fleet counts nine ships.", "score": 0.5}]
    (folder / "HITS.json").write_text(json.dumps({"query": "How many ships?", "hits": hits}))
    source = folder / "path" / "to" / "source"
    source.mkdir(parents=True)
    (source / "queue.py").write_text("def restore_unacknowledged():\n    return 'messages'\n")
    said = [
        claude_line("user", "u1", None, "What about caching?"),
        claude_line("assistant", "u2", "u1", "Decided: none."),
    ]
    write_lines(folder / "home" / ".claude" / "projects" / "-srv-app" / "s1.jsonl", said)
    (folder / "render.mjs").write_text("globalThis.render = (text) => process.stdout.write(`${text}\\n`);\n")


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        pytest.param(PAGES[:1], SAID, id="tutorial"),
        pytest.param(PAGES, (*SAID, "event: done", '"outcome":"forgotten"'), id="all", marks=pytest.mark.nightly),
    ],
)
def test_every_block_works_in_the_order_in_which_it_stands(
    reader: Reader, pages: Sequence[str], expected: Sequence[str]
) -> None:
    reader.read(ROOT / "README.md")
    for page in pages:
        reader.read(DOCS / f"{page}.md")
    said = "\n".join(reader.said)
    for text in expected:
        assert text in said, said[-5_000:]
    reader.read(ROOT / "deploy" / "README.md")


def test_every_rule_is_needed_and_what_is_left_out_is_the_smaller_part() -> None:
    ran, left_out = Counter[str](), Counter[str]()
    for page in (ROOT / "README.md", *(DOCS / f"{page}.md" for page in PAGES), ROOT / "deploy" / "README.md"):
        ran.update(language for _, language, _ in to_run(page, left_out))
    assert set(RULES) | {NO_PROGRAM} >= set(left_out) >= set(RULES)
    assert ran["python"] >= 4
    assert ran.total() > left_out.total()


def test_every_page_with_commands_is_read() -> None:
    with_blocks = {
        str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")
        for block in blocks_of(page.read_text(encoding="utf-8")) if "querymill" in block.text
    }  # fmt: skip
    assert with_blocks - {EXAMPLES} <= set(PAGES)


@pytest.mark.usefixtures("built")
def test_the_block_of_the_typescript_client_works(reader: Reader) -> None:
    (reader.folder / "node_modules").mkdir()
    (reader.folder / "node_modules" / "querymill").symlink_to(CLIENT)
    with Querymill(settings=Settings(redis_url=reader.environment["REDIS_URL"])) as mill:
        mill.ingest(
            "reports", [{"title": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]}], collection="filings"
        )
    reader.read(CLIENT / "README.md")
    assert reader.ran == {"ts": 1}
