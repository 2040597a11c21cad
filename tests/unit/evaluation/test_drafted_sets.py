"""A set that is drafted from a collection of any kind is read and asked like ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill.cli.terminal import Console
from querymill.client.transport import RETRIEVERS
from querymill.testing import MemoryMill
from querymill_evaluation.cli.evaluate_kinds import Sample
from querymill_evaluation.cli.measuring import ask_set, head_of, ingest_set, prepared
from querymill_evaluation.draft_sets import open_drafts
from querymill_evaluation.drafting import DraftSource
from querymill_evaluation.runs import read_run
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.modules.ingest import IngestModules, ModuleDocument
from querymill_shared.contracts.reports.ingest import IngestReports, Report
from querymill_shared.contracts.sessions import ChatSession

TEXT = "Yesterday the {0} excavators deepened the {0} harbour."
SESSION = ChatSession.model_validate({
    "session_id": "s", "started_at": "2026-01-01T00:00:00Z",
    "messages": [{"text": TEXT.format("northern")}, {"text": TEXT.format("southern")}],
})  # fmt: skip
MODULE = ModuleDocument.model_validate({
    "file_path": "a.js", "code": "x",
    "meta_info": {"vtkjs_modules": ["vtkActor"], "description": TEXT.format("tall")},
})  # fmt: skip
REPORT = Report.model_validate({
    "sha1": "r", "title": "Ports", "company": "Ports Ltd", "pages": [{"page": 3, "text": TEXT.format("western")}],
})  # fmt: skip
FILE = SourceFile(path="dig.py", content="def deepen_harbour():\n    return excavators\n")

INGESTED: dict[str, Any] = {
    "messages": IngestMessages(collection="c", documents=(SESSION,)),
    "conversations": IngestConversations(collection="c", documents=(SESSION,)),
    "modules": IngestModules(collection="c", documents=(MODULE,)),
    "reports": IngestReports(collection="c", documents=(REPORT,)),
    "files": IngestFiles(collection="c", documents=(FILE,)),
}
JUDGED = {"messages": {"s#0", "s#1"}, "conversations": {"s"}, "modules": {"a.js"}, "reports": {"r/3"},
          "files": {"dig.py"}}  # fmt: skip


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as world:
        yield world


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_a_drafted_set_is_measured_like_ours(mill: MemoryMill, tmp_path: Path, kind: str) -> None:
    retriever = next(retriever for retriever in RETRIEVERS if retriever == kind)
    mill.submit(INGESTED[kind]).result(timeout=30)
    drafts, source = open_drafts(tmp_path / "drafted", "c", kind), DraftSource(kind, 5)
    assert drafts.write_corpus(source.read(mill.export(retriever, collection="c"))) == 1
    drafts.propose(source.proposals())
    assert {draft.judged for draft in drafts.drafts} == JUDGED[kind]
    for draft in drafts.pending:
        drafts.decide(draft, "kept")
    chosen, say = prepared(tmp_path / "drafted", kind, {}, Sample()), Console(stderr=True, quiet=True)
    ingest_set(mill, chosen, kind, say)
    ask_set(mill, chosen, say, head=head_of(chosen, kind, {}, Sample()), save=tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert run.finished
    assert run.values("recall@10") == [1.0] * len(JUDGED[kind])
