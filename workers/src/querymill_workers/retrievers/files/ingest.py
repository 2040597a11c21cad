"""Ingesting files of a code base: searchable by words, names and patterns at once, by vectors a little later.

If the job is killed, the next attempt resumes: files that are already stored are skipped.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import IngestFiles, IngestFilesResult, SourceFile
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.retrievers.files.embed import embed_soon
from querymill_workers.retrievers.files.notes import IngestNotes
from querymill_workers.retrievers.files.ports import SPACE, FileInfo, FilePorts, KeyedChunk, PreparedFile, SourceParser
from querymill_workers.retrievers.files.rules.chunking import CODE_CHUNKING_VERSION, chunk_code, embedded_text
from querymill_workers.retrievers.files.rules.code import CodeChunk, code_text, lines_of
from querymill_workers.words.ports import WordUnit

#: Files stored between two checks that the job has not been cancelled; at most these are repeated after a kill.
SLICE = 16
#: Tokens of a chunk with its path and symbol. They are estimated; the true number seldom exceeds the model's 480.
CHUNK_TOKENS, MIN_CHUNK_TOKENS = 400, 200


def step(claim: Claim, request: IngestFiles, ports: FilePorts) -> Sequence[Bell]:
    """Ingest the files whose content differs from the stored one, and submit the embedding of their chunks."""
    collection, total = request.collection, len(request.files)
    stored = ports.files.describe(collection, [file.path for file in request.files])
    known = {path: info.revision for path, info in stored.items()}
    changed = [file for file in request.files if known.get(file.path) != revision_of(file.sha256, ports.parser)]
    symbols = chunks = 0
    for start in range(0, len(changed), SLICE):
        prepared = [prepare_file(file, ports) for file in changed[start : start + SLICE]]
        store(collection, prepared, ports)
        symbols += sum(len(file.symbols) for file in prepared)
        chunks += sum(len(file.chunks) for file in prepared)
        done = total - len(changed) + start + len(prepared)
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=total)):
            return []  # cancelled; stored files stay, and comparing the code base submits their embedding
    ports.board.add_collections("files", [collection])
    bells = embed_soon(collection, [file.path for file in request.files], ports, after=claim.job_id)
    pending = ports.files.counts(collection, model=ports.embeddings.model).pending
    notes = IngestNotes(total=total, ingested=len(changed), symbols=symbols, chunks=chunks, pending=pending)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def revision_of(sha256: str, parser: SourceParser) -> Revision:
    """Return the revision of a file: its content's hash and the versions of the rules that shape what is stored."""
    return Revision(f"{CODE_CHUNKING_VERSION}.{parser.version} {sha256}")


def prepare_file(file: SourceFile, ports: FilePorts) -> PreparedFile:
    """Read the symbols of a file and cut it into chunks."""
    parsed = ports.parser.parse(file.path, file.content)
    room = max(CHUNK_TOKENS - ports.count_tokens(file.path), MIN_CHUNK_TOKENS)
    chunks = chunk_code(file.content, parsed.symbols, count_tokens=ports.count_tokens, size=room)
    info = FileInfo(
        path=file.path,
        revision=revision_of(file.sha256, ports.parser),
        language=parsed.language,
        size=len(file.content.encode()),
        lines=len(lines_of(file.content)),
        tokens=ports.count_tokens(file.content),
        parsed_by=parsed.parsed_by,
        metadata=file.model_extra or {},
    )
    return PreparedFile(info, file.content, parsed.symbols, list(keyed(file.path, chunks)))


def keyed(path: str, chunks: Sequence[CodeChunk]) -> Iterator[KeyedChunk]:
    """Key each chunk by a hash of its embedded text and of the number of equal chunks before it."""
    before: Counter[str] = Counter()
    for chunk in chunks:
        text = embedded_text(path, chunk)
        hashed = hashlib.sha256(f"{before[text]}\n{text}".encode()).hexdigest()
        before[text] += 1
        yield KeyedChunk(ContentHash(hashed), chunk)


def store(collection: str, prepared: Sequence[PreparedFile], ports: FilePorts) -> None:
    """Store files. Words are stored first, because a stored file counts as ingested."""
    with ports.files.changing(collection, [file.info.path for file in prepared]):
        ports.words.put(collection, SPACE, [unit_of(file.info.path, file.content) for file in prepared])
        ports.files.put(collection, prepared)


def unit_of(path: str, content: str) -> WordUnit:
    """Return the unit by which a file is searchable: the words of its path and content."""
    return WordUnit(path, code_text(f"{path}\n{content}"))


def to_result(request: IngestFiles, picture: Picture, notes: IngestNotes) -> IngestFilesResult:
    """Report what the job ingested."""
    return IngestFilesResult(
        job_id=picture.record.job_id,
        complete=True,
        collection=request.collection,
        outcome="ingested" if notes.ingested else "unchanged",
        total=notes.total,
        ingested=notes.ingested,
        unchanged=notes.total - notes.ingested,
        symbols=notes.symbols,
        chunks=notes.chunks,
        pending=notes.pending,
    )


ENDING = Ending(IngestNotes, to_result)
