"""The world of a flow without any server."""

from dataclasses import dataclass, replace

import pytest

from querymill_shared.board import MemoryBoard
from querymill_shared.contracts.jobs import AnyResult, JobRequest, decode_result
from querymill_shared.contracts.modules.ingest import IngestModule, ModuleDocument
from querymill_shared.contracts.reports.ingest import IngestReport, Report
from querymill_shared.queues import queue_of
from querymill_shared.settings import Settings
from querymill_workers.dispatch import journey
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.services.stores.memory import MemoryTextVectors
from tests.fakes.answers import ScriptedAnswers
from tests.fakes.models import ScriptedJudge, ScriptedRewriter, WordEmbeddings
from tests.fakes.ports import memory_ports
from tests.fakes.words import FailingWords


@dataclass
class World:
    """Ports in memory, and a loop that rings bells in the order given."""

    board: MemoryBoard
    embeddings: WordEmbeddings
    rewriter: ScriptedRewriter
    judge: ScriptedJudge
    answers: ScriptedAnswers
    reports: MemoryReports
    text_vectors: MemoryTextVectors
    modules: MemoryModules
    messages: MemoryMessages
    sessions: MemorySessions
    files: MemoryFiles
    conversations: MemoryConversations
    ranks: MemoryRanks
    words: FailingWords
    ports: Ports

    def submit(self, request: JobRequest) -> str:
        return self.board.submit(request)[0]

    def ring(self, job_id: str, request: JobRequest, step: str) -> None:
        self.answer(Bell(job_id, step, queue_of(request, step)))

    def answer(self, *bells: Bell) -> None:
        waiting = list(bells)
        while waiting:
            waiting.extend(journey.answer(waiting.pop(0), self.ports))

    def run(self, request: JobRequest) -> str:
        job_id = self.submit(request)
        for step in request.steps:
            self.ring(job_id, request, step)
        return job_id

    def result(self, job_id: str) -> AnyResult:
        result = self.board.result(job_id)
        assert result is not None, self.board.picture(job_id).record
        return decode_result(result)

    def ingest(self, *reports: dict[str, object], collection: str = "filings") -> list[str]:
        return [
            self.run(IngestReport(collection=collection, report=Report.model_validate(report))) for report in reports
        ]

    def ingest_code(self, *documents: dict[str, object], collection: str = "code") -> list[str]:
        return [
            self.run(IngestModule(collection=collection, document=ModuleDocument.model_validate(document)))
            for document in documents
        ]

    def with_ports(self, **changes: object) -> None:
        self.ports = replace(self.ports, **changes)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    board, reports, text_vectors = MemoryBoard(Settings()), MemoryReports(), MemoryTextVectors()
    embeddings = WordEmbeddings()
    rewriter, judge, answers = ScriptedRewriter({}), ScriptedJudge(), ScriptedAnswers()
    modules, messages, words = MemoryModules(), MemoryMessages(), FailingWords()
    files = MemoryFiles()
    conversations = MemoryConversations()
    ranks = MemoryRanks(conversations)
    ports = memory_ports(
        board=board,
        embeddings=embeddings,
        rewriter=rewriter,
        judge=judge,
        answers=answers,
        reports=reports,
        text_vectors=text_vectors,
        modules=modules,
        words=words,
        messages=messages,
        sessions=messages.sessions,
        files=files,
        conversations=conversations,
        ranks=ranks,
        shorthands={"actor": [], "mapper": [], "axes": ["vtkAxesActor"]},
        glossary={"EBITDA": "earnings before interest, taxes, depreciation and amortisation"},
    )
    return World(
        board=board,
        embeddings=embeddings,
        rewriter=rewriter,
        judge=judge,
        answers=answers,
        reports=reports,
        text_vectors=text_vectors,
        modules=modules,
        messages=messages,
        sessions=messages.sessions,
        files=files,
        words=words,
        ports=ports,
        conversations=conversations,
        ranks=ranks,
    )


def report(sha1: str, *pages: str, company: str = "Acme", period: str | None = "2022") -> dict[str, object]:
    """Build a report whose pages are numbered from 1."""
    return {
        "sha1": sha1,
        "title": f"{company} {period}",
        "company": company,
        "period": period,
        "pages": [{"page": number, "text": text} for number, text in enumerate(pages, start=1)],
    }


def example(document: int | str, *modules: str, description: str = "", code: str = "run();") -> dict[str, object]:
    """Build a code document: numbered, or known by its path."""
    identity = {"file_path": document} if isinstance(document, str) else {"file_path": "x.js", "faiss_id": document}
    return identity | {"code": code, "meta_info": {"vtkjs_modules": list(modules), "description": description}}
