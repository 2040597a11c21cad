"""What a chat model writes beside a question, with real servers: every kind but `reports`, which has its own flow."""

from typing import Any

import pytest

from querymill import Querymill
from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.kinds import SEARCHES
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import ended
from tests.fixtures.people import ingestion

KINDS = [kind for kind, search in SEARCHES.items() if issubclass(search, ExpandsInBranches)]
NEAR, MEANT = "the line at the desk stays open", "keepalive interval of every idle connection"
WRITTEN = "keepalive interval of an idle connection: the line"


def document(kind: str, name: str, text: str) -> dict[str, Any]:
    match kind:
        case "messages" | "conversations":
            said = [{"message_id": f"{name}-1", "role": "user", "text": text}]
            return {"session_id": name, "started_at": "2026-03-01T10:00:00Z", "messages": said}
        case "modules":
            meta = {"vtkjs_modules": ["vtk.Rendering.Core.vtkActor"], "description": text}
            return {"file_path": f"{name}.js", "code": "run();", "meta_info": meta}
        case _:
            return {"path": f"{name}.py", "content": f"# {text}\ndef {name}():\n    pass\n"}


@pytest.fixture(params=KINDS)
def asked(request: pytest.FixtureRequest, mill: Querymill, worker: WorkerProcess, openai_server: OpenAIServer) -> Any:
    """A search of a collection in which one document has the words of the question, and another is what it means."""
    kind, collection = request.param, f"expanded-{request.param}"
    documents = (document(kind, "near", NEAR), document(kind, "meant", MEANT))
    ended(mill, mill.submit(ingestion(kind, collection, *documents)))
    search = {"query": "which line stays open", "collection": collection, "deadline": 30, "hyde": True}
    return SEARCHES[kind].model_validate(search)


def test_a_hypothetical_hit_is_searched_beside_the_question(
    asked: Any, mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda _: chat_answer(WRITTEN)
    result = mill.submit(asked).result(timeout=30)
    assert result.complete, result.degraded
    assert result.expansion_texts == {"hyde": (WRITTEN,)}
    ranks = [hit.explanation["expanded"]["ranks"] for hit in result.results]
    assert {branch for found in ranks for branch in found} == {"original", "hyde/1"}


def test_a_chat_model_that_fails_costs_the_question_nothing(
    asked: Any, mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda _: Answer(b'{"error": {"message": "no", "type": "invalid_request_error"}}', 400)
    fresh = asked.model_copy(update={"query": "which line stays open all day"})
    result = mill.submit(fresh).result(timeout=30)
    alone = mill.submit(fresh.model_copy(update={"hyde": False})).result(timeout=30)
    assert [part.stage for part in result.degraded] == ["hyde"]
    assert [hit.score for hit in result.results] == [hit.score for hit in alone.results]
