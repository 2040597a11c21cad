"""`querymill eval` on a small set of each kind: a real worker, a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fixtures.command_line import CommandLine
from tests.fixtures.evaluation_sets import write_set

pytestmark = pytest.mark.usefixtures("worker", "openai_server")


def figures(querymill: CommandLine, folder: Path, kind: str, *options: str) -> dict[str, Any]:
    run = querymill("eval", folder, "--kind", kind, *options, "--json")
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout)
    return printed


def best(printed: dict[str, Any]) -> tuple[float, float, float]:
    return printed["ndcg@10"], printed["recall@10"], printed["mrr@10"]


def test_messages_are_searched_in_their_session(querymill: CommandLine, tmp_path: Path) -> None:
    def message(name: str, session: str, text: str) -> dict[str, Any]:
        return {"_id": name, "text": text, "metadata": {"session_id": session, "message_role": "user"}}

    corpus = [
        message("m1", "s", "the harbour was dredged"), message("m2", "s", "seven cranes were bought"),
        message("m3", "t", "seven cranes were bought"),
    ]  # fmt: skip
    queries = [{"_id": "q", "text": "how many cranes were bought", "metadata": {"session_id": "t"}}]
    folder = write_set(tmp_path / "evalmessages", corpus=corpus, queries=queries, qrels={"q": {"m3": 1}})
    printed = figures(querymill, folder, "messages")
    assert best(printed) == (1.0, 1.0, 1.0)
    assert (printed["set"], printed["kind"], printed["queries"], printed["degraded"]) == (
        "evalmessages", "messages", 1, 0,
    )  # fmt: skip


def test_modules_are_measured_by_the_group_of_their_queries(querymill: CommandLine, tmp_path: Path) -> None:
    def example(number: int, *names: str) -> dict[str, Any]:
        meta_info = {"vtkjs_modules": names, "description": f"example {number}"}
        return {"faiss_id": number, "file_path": f"{number}.js", "code": "run()", "meta_info": meta_info}

    queries = [
        {"_id": "right", "text": "use a vtkConeSource", "metadata": {"kind": "right"}},
        {"_id": "wrong", "text": "use a vtkConeSource", "metadata": {"kind": "wrong"}},
    ]
    judged = {"right": {"0": 1}, "wrong": {"1": 1}}
    corpus = [example(0, "vtkConeSource"), example(1, "vtkPlane")]
    folder = write_set(tmp_path / "evalmodules", corpus=corpus, queries=queries, qrels=judged)
    printed = figures(querymill, folder, "modules", "--option", "channels=modules")
    assert printed["groups"] == {"right": 1.0, "wrong": 0.0}
    assert best(printed) == (0.5, 0.5, 0.5)
    assert printed["options"] == {"channels": ["modules"]}


def test_conversations_are_ranked_before_they_are_asked(querymill: CommandLine, tmp_path: Path) -> None:
    def talk(name: str, text: str) -> dict[str, Any]:
        messages = [{"role": "user", "text": text, "created_at": "2026-01-01T10:00:00Z"}]
        return {"_id": name, "title": "", "text": text, "metadata": {"started_at": "2026-01-01", "messages": messages}}

    corpus = [talk("a", "the harbour was dredged"), talk("b", "seven cranes were bought")]
    queries = [{"_id": "q", "text": "cranes bought"}]
    folder = write_set(tmp_path / "evaltalks", corpus=corpus, queries=queries, qrels={"q": {"b": 1}})
    printed = figures(querymill, folder, "conversations", "--option", "now=after", "--sessions", "2")
    assert best(printed) == (1.0, 1.0, 1.0)
    assert printed["options"] == {"now": "after", "sessions": 2}


def test_files_wait_for_their_vectors_and_have_figures_of_their_own(querymill: CommandLine, tmp_path: Path) -> None:
    def file(path: str, text: str) -> dict[str, Any]:
        return {"_id": path, "title": path, "text": text, "metadata": {"path": path}}

    corpus = [
        file("ships.py", "def count_ships():\n    return fleet_size()\n"),
        file("cranes.py", "def buy_cranes():\n    return order_seven_cranes()\n"),
    ]
    queries = [{"_id": "q", "text": "buy cranes"}]
    folder = write_set(tmp_path / "evalfiles", corpus=corpus, queries=queries, qrels={"q": {"cranes.py": 1}})
    options = ("--option", "channels=words,vectors", "--option", "mode=oneshot")
    printed = figures(querymill, folder, "files", *options)
    assert best(printed) == (1.0, 1.0, 1.0)
    assert printed["recall_of_returned"] == 1.0
    assert {"recall_of_context", "returned", "files_read", "rounds", "tokens_spent"} <= set(printed)


def test_a_query_that_fails_is_named_and_counts_as_nothing_found(
    querymill: CommandLine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    meta_info = {"vtkjs_modules": ["vtkCrane"], "description": "seven cranes were bought"}
    corpus = [{"_id": "d", "metadata": {"file_path": "d", "code": "run()", "meta_info": meta_info}}]
    queries = [{"_id": "q", "text": "cranes bought"}]
    folder = write_set(tmp_path / "evalfails", corpus=corpus, queries=queries, qrels={"q": {"d": 1}})
    assert best(figures(querymill, folder, "modules")) == (1.0, 1.0, 1.0)
    openai_server.script.embeddings = lambda _: Answer(b"{}", status=400)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "another question"}\n')
    run = querymill("eval", folder, "--kind", "modules", "--option", 'channels=["vectors"]', "--json")
    assert run.returncode == 0, run.stderr
    printed = json.loads(run.stdout)
    assert (printed["ndcg@10"], printed["degraded"], printed["queries"]) == (0.0, 1, 1)
    assert "q: " in run.stderr


def test_a_reader_gets_one_figure_a_line(querymill: CommandLine, tmp_path: Path) -> None:
    corpus = [{"_id": f"d#{n}", "title": "", "text": f"page {n}", "metadata": {"doc": "d"}} for n in range(2)]
    queries = [{"_id": f"q{n}", "text": f"page {n}"} for n in range(3)]
    judged = {f"q{n}": {"d#0": 1} for n in range(3)}
    folder = write_set(tmp_path / "evallines", corpus=corpus, queries=queries, qrels=judged, packed=True)
    run = querymill("eval", folder, "--kind", "reports", "--limit", "2", "--run-out", tmp_path / "run.trec")
    assert run.returncode == 0, run.stderr
    printed = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    assert (printed["set"], printed["queries"], printed["recall@10"]) == ("evallines", "2", "1.0")
    assert len({line.split()[0] for line in (tmp_path / "run.trec").read_text().splitlines()}) == 2
