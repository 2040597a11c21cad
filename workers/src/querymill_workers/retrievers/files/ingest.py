"""Taking files of a code base in: found by words, names and expressions at once, by vectors a little later.

Killed anywhere, the next attempt goes on where this one was: a file that is stored counts as ingested.
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

#: Files stored between two looks at whether the job still lives: at most these are done again after a kill.
SLICE = 16
#: Tokens of a chunk with its path and symbol: what is estimated seldom exceeds the 480 that the model reads.
CHUNK_TOKENS, MIN_CHUNK_TOKENS = 400, 200


def step(claim: Claim, request: IngestFiles, ports: FilePorts) -> Sequence[Bell]:
    """Ingest files; those whose content is there already change nothing."""
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
            return []  # cancelled; what is stored stays, its vectors are asked for when the code base is compared
    ports.board.add_collections("files", [collection])
    bells = embed_soon(collection, [file.path for file in request.files], ports, after=claim.job_id)
    pending = ports.files.counts(collection, model=ports.embeddings.model).pending
    notes = IngestNotes(total=total, ingested=len(changed), symbols=symbols, chunks=chunks, pending=pending)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def revision_of(sha256: str, parser: SourceParser) -> Revision:
    """Join the hash of a file's content with what shapes its symbols and chunks."""
    return Revision(f"{CODE_CHUNKING_VERSION}.{parser.version} {sha256}")


def prepare_file(file: SourceFile, ports: FilePorts) -> PreparedFile:
    """Read a file's symbols, and cut it into chunks."""
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
    """Give each chunk the hash of what is embedded of it, and of how many before it are the same."""
    before: Counter[str] = Counter()
    for chunk in chunks:
        text = embedded_text(path, chunk)
        hashed = hashlib.sha256(f"{before[text]}\n{text}".encode()).hexdigest()
        before[text] += 1
        yield KeyedChunk(ContentHash(hashed), chunk)


def store(collection: str, prepared: Sequence[PreparedFile], ports: FilePorts) -> None:
    """Store files; words go first, as a file that is stored counts as ingested."""
    with ports.files.changing(collection, [file.info.path for file in prepared]):
        ports.words.put(collection, SPACE, [unit_of(file.info.path, file.content) for file in prepared])
        ports.files.put(collection, prepared)


def unit_of(path: str, content: str) -> WordUnit:
    """Say by which words a file is found: those of its path and of its content."""
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
