"""A gold that is lost at each step of each kind, through real servers: `why_not` names that step."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from querymill import Querymill
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.kinds import SEARCHES
from querymill_shared.contracts.why_not import Absence
from querymill_workers.retrievers.conversations.search.why_not import GATES as OF_CONVERSATIONS
from querymill_workers.retrievers.files.rules.absence import GATES as OF_FILES
from querymill_workers.retrievers.messages.search.why_not import GATES as OF_MESSAGES
from querymill_workers.retrievers.modules.search.why_not import GATES as OF_MODULES
from querymill_workers.retrievers.reports.rules.absence import GATES as OF_REPORTS
from tests.fakes.openai_server import OpenAIServer, ill, rejection
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import ended
from tests.fixtures.people import ingestion

#: The provider refuses to embed what has this word.
REFUSED: Final = "tomatoes"
SHIPS: Final = "how many ships counts the fleet"
WORDS: Final = ("harbour", "cargo", "crew", "engine", "fuel", "route", "storm", "dock")

#: For each step: what is missed, and the fields of the request with which it is lost there.
LOST: Final[dict[str, list[tuple[str, str, dict[str, Any]]]]] = {
    "modules": [
        ("collection", "99", {}),
        ("filter", "0", {"filter": {"module": "vtkSoup"}}),
        ("match", "soup.js", {"channels": ["text"]}),
        ("channels", "12", {"channels": ["text"], "candidates": 6}),
        ("top_k", "12", {"channels": ["text"]}),
    ],
    "messages": [
        ("collection", "s/zz", {}),
        ("session", "t/a", {"session_id": "s"}),
        ("filter", "s/a", {"filter": {"user_name": "nobody"}}),
        ("exclusions", "s/a", {"exclude_message_id": "a"}),
        ("vector or words", "s/d", {}),
        ("threshold", "s/c", {"similarity_threshold": 0.999}),
        ("limit", "s/b", {"limit": 1, "similarity_threshold": None}),
    ],
    "conversations": [
        ("collection", "nowhere", {}),
        ("filter", "s00", {"filter": {"user_name": "nobody"}}),
        ("time", "old", {"query": "ships in June 2026"}),
        ("words", "soup", {}),
        ("candidates", "weak", {}),
        ("score", "s30", {"diversify": False}),
        ("diversification", "b3", {"query": "boats", "diversify": True, "top_n": 4, "scoring": "bm25"}),
    ],
    "reports": [
        ("collection", "zz", {}),
        ("filter", "a1", {"filter": {"period": "2021"}}),
        ("routing", "c3", {"documents": ["a1"]}),
        ("vector", "c3/page/1", {"documents": ["c3"], "candidates": 1, "top_n": 1}),
        ("candidates", "a1/page/8", {"documents": ["a1"], "ranking": "agreement", "candidates": 2, "top_n": 2}),
        ("fusion", "twin2", {"documents": ["twin", "twin2"]}),
        ("rerank", "a1/page/8", {"documents": ["a1"], "rerank": True, "top_n": 1}),
        ("top_n", "a1/page/8", {"documents": ["a1"], "top_n": 1}),
    ],
    "files": [
        ("indexed", "nowhere.py", {}),
        ("filter", "many/part_00.py", {"under": ["docs"]}),
        ("candidates", "utils/colours.py", {"mode": "oneshot"}),
        ("band", "docs/notes.md", {"query": "restore_unacked messages of a consumer's channel"}),
        ("top_n", "many/part_01.py", {"top_n": 1, "query": "def part_0 restore", "mode": "oneshot"}),
    ],
}  # fmt: skip
ASKED: Final[dict[str, dict[str, Any]]] = {
    "modules": {"query": "a red cone"},
    "messages": {"query": SHIPS, "similarity_threshold": None, "ranking": "vectors", "limit": 3},
    "conversations": {"query": "ships", "now": "2026-06-30T12:00:00Z", "vectors": False},
    "reports": {"query": "revenue rose", "return_parent_pages": True},
    "files": {"query": "restore"},
}
GATES: Final[dict[str, Sequence[str]]] = {
    "modules": OF_MODULES, "messages": OF_MESSAGES, "conversations": OF_CONVERSATIONS, "reports": OF_REPORTS,
    "files": [gate for gate in OF_FILES if gate != "budget"],  # by chance of time alone: see the unit test
}  # fmt: skip


def documents(kind: str) -> list[dict[str, Any]]:
    """Return the material of a kind, in which something can be lost at each step."""
    match kind:
        case "modules":
            cone = [(n, "vtkActor", "a red cone" + " and more" * n) for n in range(13)]
            return [
                {"faiss_id": n, "file_path": f"{n}.js", "code": f"run({n});",
                 "meta_info": {"vtkjs_modules": [module], "description": text}}
                for n, module, text in cone
            ] + [{"file_path": "soup.js", "code": "stir();",
                  "meta_info": {"vtkjs_modules": ["vtkSoup"], "description": "warm soup"}}]  # fmt: skip
        case "messages":
            said = ["the fleet counts nine ships", "the fleet sails", "ships and soup", f"{REFUSED} for lunch"]
            return [session(name, said) for name in ("s", "t")]
        case "conversations":
            crowd = [session(f"s{n:02}", ["ships ships"]) for n in range(60)]
            return [
                *crowd, session("weak", ["a ship of them all"]), session("soup", ["soup"]),
                session("old", ["ships"], at="2025-12-01T10:00:00Z"),
                *(session(f"b{n}", ["boats"], at="2026-05-20T10:00:00Z") for n in range(4)), session("now", ["boats"]),
            ]  # fmt: skip
        case "reports":
            pages = [" ".join(["revenue rose", *(f"{WORDS[n]}{k}" for k in range(4 * n))]) for n in range(8)]
            same = " ".join(["revenue rose by a tenth in every", *WORDS])
            return [
                report("a1", *pages), report("b2", "revenue rose twice", period="2021"),
                report("c3", f"{REFUSED} sell well", "revenue rose", company="Borough"),
                report("twin", same, company="Twin"), report("twin2", same, company="Twin", period="2021"),
            ]  # fmt: skip
        case _:
            many = {f"many/part_{n:02}.py": f"def part_{n}():\n    restore()\n" + "x = 1\n" * n for n in range(24)}
            rest = {
                "transport/virtual.py": "class QoS:\n    def restore_unacked(self, channel, consumer):\n"
                "        return channel.put_back(messages)\n",
                "utils/colours.py": "def paint(text):\n    return text\n",
                "docs/notes.md": "A channel is described elsewhere.\n",
            }
            return [{"path": path, "content": content} for path, content in (many | rest).items()]


def session(name: str, texts: Sequence[str], *, at: str = "2026-06-28T10:00:00Z") -> dict[str, Any]:
    messages = [{"message_id": chr(97 + n), "role": "user", "text": text} for n, text in enumerate(texts)]
    return {"session_id": name, "started_at": at, "messages": messages}


def report(sha1: str, *pages: str, company: str = "Acme", period: str = "2022") -> dict[str, Any]:
    numbered = [{"page": number, "text": text} for number, text in enumerate(pages, start=1)]
    return {"sha1": sha1, "title": f"{company} {period}", "company": company, "period": period, "pages": numbered}


@pytest.mark.parametrize("kind", list(LOST))
def test_the_step_at_which_a_gold_is_lost_is_named(
    kind: Retriever, mill: Querymill, worker: WorkerProcess, openai_server: OpenAIServer
) -> None:
    assert {step for step, _, _ in LOST[kind]} == set(GATES[kind])
    openai_server.script.embeddings = ill(REFUSED, rejection({"message": "refused", "param": None}))
    collection = f"lost-{kind}"
    ended(mill, mill.submit(ingestion(kind, collection, *documents(kind))))
    asked = [
        mill.submit(SEARCHES[kind].model_validate({"collection": collection, "why_not": wanted} | ASKED[kind] | fields))
        for _, wanted, fields in LOST[kind]
    ]
    results: list[Any] = [job.result(timeout=30) for job in asked]
    absences: list[Absence] = [result.why_not for result in results]
    assert [absence.failed and absence.failed.name for absence in absences] == [step for step, _, _ in LOST[kind]], [
        absence.failed for absence in absences
    ]
