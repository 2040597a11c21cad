"""A user's own words: a worker that starts with them finds what none found before, and nothing is indexed again."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from querymill import (
    ConversationSearch,
    FileSearch,
    IngestConversations,
    IngestFiles,
    IngestModules,
    ModuleSearch,
    Querymill,
    SourceFile,
)
from querymill_shared.contracts.modules.ingest import ModuleDocument
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.deployment import Deployment

OWN = """\
terms\tenglish\tdomains
绞盘\tcapstan\t*
windlass | capstan\t\tfiles conversations
"""
TEXT = "The capstan of the aft deck lifts nine tonnes."
QUESTIONS = ("甲板绞盘怎么用？", "How is the windlass greased?")


@pytest.fixture
def yard(worker: WorkerProcess, mill: Querymill) -> str:
    """A collection with a file, a module and a session about a capstan, ingested without the user's words."""
    collection = f"yard-{uuid4().hex[:12]}"
    document = {"faiss_id": 1, "file_path": "1.js", "code": "lift()"}
    document["meta_info"] = {"vtkjs_modules": ["vtkActor"], "description": TEXT}
    for request in (
        IngestFiles(collection=collection, documents=(SourceFile(path="deck.py", content=f'"""{TEXT}"""\n'),)),
        IngestModules(collection=collection, documents=(ModuleDocument.model_validate(document),)),
        IngestConversations(collection=collection, documents=(session("s1", TEXT),)),
    ):
        mill.submit(request).result(timeout=60)
    return collection


@pytest.fixture
def own_mill(deployment: Deployment, yard: str, tmp_path: Path) -> Iterator[Querymill]:
    """A client of a board whose only worker has the user's words."""
    (tmp_path / "own.tsv").write_text(OWN, encoding="utf-8")
    elsewhere = deployment.settings.redis_url.removesuffix("/2") + "/5"
    changes = {"REDIS_URL": elsewhere, "QUERYMILL_LEXICON": str(tmp_path / "own.tsv")}
    with (
        WorkerProcess(deployment.environment | changes),
        Querymill(redis_url=elsewhere, settings=deployment.settings) as connected,
    ):
        yield connected


def found_by(mill: Querymill, collection: str, question: str) -> set[str]:
    asked = {"query": question, "collection": collection}
    files = FileSearch.model_validate(asked | {"channels": ["words"], "mode": "oneshot"})
    modules = ModuleSearch.model_validate(asked | {"channels": ["text"]})
    conversations = ConversationSearch.model_validate(asked | {"vectors": False})
    hits = {
        "files": [hit for hit in mill.submit(files).result(timeout=60).results if "words" in hit.found_by],
        "modules": mill.submit(modules).result(timeout=60).results,
        "conversations": mill.submit(conversations).result(timeout=60).results,
    }
    return {kind for kind, found in hits.items() if found}


def test_a_term_of_a_user_finds_what_it_did_not_find_before(mill: Querymill, own_mill: Querymill, yard: str) -> None:
    chinese, english = QUESTIONS
    assert (found_by(mill, yard, chinese), found_by(mill, yard, english)) == (set(), set())
    assert found_by(own_mill, yard, chinese) == {"files", "modules", "conversations"}
    assert found_by(own_mill, yard, english) == {"files", "conversations"}
