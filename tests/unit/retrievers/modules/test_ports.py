"""The flows of `modules` need nothing of the world but what `ModulePorts` names."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from querymill_shared.board import Board
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.modules import ModuleJobResult, ModuleRequest
from querymill_shared.contracts.modules.ingest import IngestModule, ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_workers.documents.ports import Documents
from querymill_workers.inference.ports import PreviousModel
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.jobs.heartbeat import NoHeartbeat
from querymill_workers.ledger.memory import MemoryLedger
from querymill_workers.ledger.ports import Ledger
from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.modules.flow import flow_of
from querymill_workers.retrievers.modules.ports import Descriptions, Modules
from querymill_workers.retrievers.modules.reindex import reindexed
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.modules.stores.memory_descriptions import MemoryDescriptions
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import Words
from tests.fakes.jobs import KeepingBoard
from tests.fakes.models import ScriptedRewriter, WordEmbeddings
from tests.fixtures.boards import new_board_of
from tests.fixtures.world import example

DESCRIPTIONS = MemoryDescriptions()


@dataclass(frozen=True)
class OnlyModules:
    """The part of the world that `ModulePorts` names, and no more."""

    board: Board = field(default_factory=lambda: new_board_of(KeepingBoard))
    heartbeat: Heartbeat = field(default_factory=NoHeartbeat)
    clock: Callable[[], float] = time.monotonic
    max_attempts: int = 3
    modules: Modules = field(default_factory=MemoryModules)
    descriptions: Descriptions = DESCRIPTIONS
    vectors: Mapping[Retriever, Vectors] = field(default_factory=lambda: {"modules": DESCRIPTIONS.vectors})
    embeddings: WordEmbeddings = field(default_factory=WordEmbeddings)
    previous: PreviousModel | None = None
    words: Words = field(default_factory=MemoryWords)
    thesauri: Mapping[str, Thesaurus] = field(default_factory=thesauri)
    ledger: Ledger = field(default_factory=MemoryLedger)
    documents: Mapping[Retriever, Documents] = field(default_factory=dict)
    text_vectors: MemoryTextVectors = field(default_factory=MemoryTextVectors)
    rewriter: ScriptedRewriter = field(default_factory=lambda: ScriptedRewriter({"parts": "<9: a vtkPlane>"}))
    shorthands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    count_tokens: Callable[[str], int] = len


def run(request: ModuleRequest, ports: OnlyModules) -> ModuleJobResult:
    job_id, _ = ports.board.submit(request)
    for name in request.steps:
        claim = ports.board.claim(job_id, name)
        assert claim is not None
        flow_of(request).step(claim, ports)
    result = ports.board.result(job_id)
    assert result is not None, ports.board.picture(job_id).record
    return decode_result(result)  # type: ignore[return-value]


def test_ingesting_learning_searching_and_reindexing_touch_nothing_else() -> None:
    ports = OnlyModules()
    for number in range(6):
        module, description = ("vtkPlane", "Cut by a plane") if number % 2 else ("vtkConeSource", "A cone")
        document = ModuleDocument.model_validate(example(number, module, "vtkActor", description=description))
        run(IngestModule(collection="code", document=document), ports)
    learned = run(LearnLexicon(collection="code"), ports)
    found = run(ModuleSearch(collection="code", query="cut it open", split=True, prompt_tokens=4_000), ports)
    assert isinstance(learned, LexiconResult)
    assert learned.documents == 6
    assert isinstance(found, ModuleResult)
    assert [hit.document for hit in found.results][:3] == [1, 3, 5]
    assert list(reindexed("code", ports)) == [(6, 6, 6)]
