"""The part of the world that `files` may touch is all it needs, and all it can name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from querymill_shared.board import Board
from querymill_shared.contracts.files import FileRequest
from querymill_shared.contracts.files.ingest import CompareFiles, IngestFiles, SourceFile
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import decode_result
from querymill_workers.documents.ports import Documents, ForgetfulVectors, Samples
from querymill_workers.inference.ports import Embeddings, Judge, PreviousModel
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.ledger.ports import Ledger
from querymill_workers.retrievers.files.flow import flow_of
from querymill_workers.retrievers.files.ports import FilePorts, Files, SourceParser
from querymill_workers.retrievers.files.reindex import reindexed
from querymill_workers.retrievers.files.rules.relevance import FileProfiles
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words
from tests.fixtures.world import World


@dataclass(frozen=True)
class OnlyFiles:
    """`FilePorts` and nothing besides."""

    board: Board
    heartbeat: Heartbeat
    clock: Callable[[], float]
    max_attempts: int
    files: Files
    words: Words
    thesauri: Mapping[str, Thesaurus]
    ledger: Ledger
    vectors: Mapping[Retriever, Vectors]
    samples: Samples
    documents: Mapping[Retriever, Documents]
    text_vectors: ForgetfulVectors
    parser: SourceParser
    embeddings: Embeddings
    previous: PreviousModel | None
    judge: Judge
    file_profiles: FileProfiles
    count_tokens: Callable[[str], int]


def only_files(world: World) -> FilePorts:
    return OnlyFiles(**{field.name: getattr(world.ports, field.name) for field in fields(OnlyFiles)})


def run(request: FileRequest, ports: FilePorts) -> str:
    job_id, _ = ports.board.submit(request)
    steps = list(request.steps)
    while steps:
        claim = ports.board.claim(job_id, steps.pop(0))
        assert claim is not None
        bells = flow_of(request).step(claim, ports)
        steps += [bell.step for bell in bells if bell.job_id == job_id]
    return job_id


def test_every_job_of_files_runs_with_the_ports_of_files_alone(world: World) -> None:
    ports = only_files(world)
    file = SourceFile(path="a.py", content="def restore_unacked(): pass\n")
    for request in (
        IngestFiles(collection="code", files=(file,), vectors=True),
        CompareFiles(collection="code", files={"a.py": file.sha256}, remove=True),
    ):
        assert ports.board.picture(run(request, ports)).record.state == "done"
    job_id = run(
        FileSearch(query="restore", collection="code", evaluator="judge", channels=("words", "vectors")), ports
    )
    result = decode_result(ports.board.result(job_id) or "")
    assert isinstance(result, FileResult)
    assert [hit.path for hit in result.results] == ["a.py"]
    assert list(reindexed("code", ports)) == [(1, 1, 1)]


def test_a_deadline_is_settled_with_the_ports_of_files_alone(world: World) -> None:
    ports, request = only_files(world), FileSearch(query="restore", collection="code")
    job_id, _ = ports.board.submit(request)
    flow_of(request).settle(ports.board.picture(job_id), ports)
    assert ports.board.picture(job_id).record.state == "failed"
