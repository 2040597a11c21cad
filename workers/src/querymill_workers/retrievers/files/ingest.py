"""Ingesting files of a code base: searchable by words, names and patterns at once, by vectors later, and if asked.

A file and its words change together, and an older version never replaces a newer one. If the job is killed, the next
attempt resumes: files that are already stored are skipped.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import IngestFiles, IngestFilesResult, SourceFile
from querymill_workers.documents.late_writes import bury_replaced
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.ledger.ports import Subject, Version, version_of
from querymill_workers.retrievers.files.embed import ask_for_vectors, count_pending, embed_soon
from querymill_workers.retrievers.files.notes import IngestNotes
from querymill_workers.retrievers.files.ports import KIND, SPACE, FileInfo, FilePorts, KeyedChunk, PreparedFile
from querymill_workers.retrievers.files.rules.chunking import CODE_CHUNKING_VERSION, chunk_code, embedded_text
from querymill_workers.retrievers.files.rules.code import CodeChunk, code_text, lines_of
from querymill_workers.vectors.keys import keys_of
from querymill_workers.words.ports import WordUnit

#: Files stored between two checks that the job has not been cancelled; at most these are repeated after a kill.
SLICE = 16
#: Tokens of a chunk with its path and symbol. They are estimated; the true number seldom exceeds the model's 480.
CHUNK_TOKENS = 400
#: The share of a smaller model's input that a chunk takes, because its tokens are estimated.
INPUT_SHARE = 0.8


def step(claim: Claim, request: IngestFiles, ports: FilePorts) -> Sequence[Bell]:
    """Ingest the files whose content differs from the stored one; submit the embedding of their chunks.

    Chunks are embedded if the collection has vectors, or is asked to have them. If it had none, all its chunks are. A
    file of which a newer version was accepted, or that was dropped since, is left alone.
    """
    collection, total, version = request.collection, len(request.files), version_of(claim)
    # A second attempt cannot tell whether the first was the first to ask.
    embeds_all = request.vectors and (ask_for_vectors(collection, ports) or claim.attempt > 1)
    stored: list[PreparedFile] = []
    outdated = 0
    for start in range(0, total, SLICE):
        files = request.files[start : start + SLICE]
        changed, left = store(collection, files, version, ports)
        stored, outdated = [*stored, *changed], outdated + left
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=start + len(files), total=total)):
            return []  # cancelled; stored files stay, and comparing the code base submits their embedding
    ports.board.add_collections("files", [collection])
    # Also of files that are stored already: an earlier attempt may have been killed before it submitted this.
    chunks = {file.path: 1 for file in request.files} | {file.info.path: len(file.chunks) for file in stored}
    bells = embed_soon(claim, request, None if embeds_all else chunks, ports)
    notes = IngestNotes(
        total=total,
        ingested=len(stored),
        symbols=sum(len(file.symbols) for file in stored),
        chunks=sum(len(file.chunks) for file in stored),
        pending=count_pending(collection, ports),
        outdated=outdated,
    )
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def store(
    collection: str, files: Sequence[SourceFile], version: Version, ports: FilePorts
) -> tuple[Sequence[PreparedFile], int]:
    """Store files and their words in one change.

    Returns the files that were stored because their content is new, and how many were left alone as outdated.
    """
    # Before the lock: parsing takes a while.
    prepared = {file.path: prepare_file(file, ports) for file in changed_files(collection, files, ports)}
    subjects = [subject_of(file, ports.parser.language_of(file.path, file.content)) for file in files]
    with ports.ledger.changing(collection, KIND, subjects, version) as standings:
        bury_replaced(collection, KIND, standings, ports)
        newest = [file for file in files if standings[file.path].newest]
        changed = [
            prepared.get(file.path) or prepare_file(file, ports) for file in changed_files(collection, newest, ports)
        ]
        if changed:
            ports.words.put(collection, SPACE, [unit_of(file.info.path, file.content) for file in changed])
            ports.files.put(collection, changed)
            ports.vectors[KIND].retry(collection, documents=[file.info.path for file in changed])
    return changed, len(files) - len(newest)


def changed_files(collection: str, files: Sequence[SourceFile], ports: FilePorts) -> list[SourceFile]:
    """Return the files whose content differs from the stored one."""
    stored = ports.files.describe(collection, [file.path for file in files])
    known = {path: info.revision for path, info in stored.items()}
    return [file for file in files if known.get(file.path) != revision_of(file.sha256, ports)]


def subject_of(file: SourceFile, language: str) -> Subject:
    """Return what the ledger knows of a file."""
    return Subject(file.path, {"path": file.path, "language": language or None}, file.model_extra or {})


def revision_of(sha256: str, ports: FilePorts) -> Revision:
    """Return the revision of a file: its content's hash and the versions of the rules that shape what is stored."""
    size = chunk_tokens(ports)
    sized = "" if size == CHUNK_TOKENS else f".{size}"
    return Revision(f"{CODE_CHUNKING_VERSION}.{ports.parser.version}{sized} {sha256}")


def chunk_tokens(ports: FilePorts) -> int:
    """Return how many tokens a chunk may have with its path and symbol, so that the model reads all of it."""
    return min(CHUNK_TOKENS, int(ports.embeddings.max_text_tokens * INPUT_SHARE))


def prepare_file(file: SourceFile, ports: FilePorts) -> PreparedFile:
    """Read the symbols of a file and cut it into chunks."""
    parsed = ports.parser.parse(file.path, file.content)
    size = chunk_tokens(ports)
    room = max(size - ports.count_tokens(file.path), size // 2)
    chunks = chunk_code(file.content, parsed.symbols, count_tokens=ports.count_tokens, size=room)
    info = FileInfo(
        path=file.path,
        revision=revision_of(file.sha256, ports),
        language=parsed.language,
        size=len(file.content.encode()),
        lines=len(lines_of(file.content)),
        tokens=ports.count_tokens(file.content),
        parsed_by=parsed.parsed_by,
        metadata=file.model_extra or {},
    )
    return PreparedFile(info, file.content, parsed.symbols, keyed(file.path, chunks))


def keyed(path: str, chunks: Sequence[CodeChunk]) -> list[KeyedChunk]:
    """Key each chunk by its embedded text."""
    keys = keys_of([embedded_text(path, chunk.symbol, chunk.text) for chunk in chunks])
    return [KeyedChunk(ContentHash(key), chunk) for key, chunk in zip(keys, chunks, strict=True)]


def unit_of(path: str, content: str) -> WordUnit:
    """Return the unit by which a file is searchable: the words of its path and content."""
    return WordUnit(path, code_text(f"{path}\n{content}"))


def to_result(request: IngestFiles, picture: Picture, notes: IngestNotes) -> IngestFilesResult:
    """Report what the job ingested."""
    return IngestFilesResult(
        job_id=picture.record.job_id,
        complete=True,
        collection=request.collection,
        outcome="ingested" if notes.ingested else "superseded" if notes.outdated == notes.total else "unchanged",
        total=notes.total,
        ingested=notes.ingested,
        unchanged=notes.total - notes.ingested,
        symbols=notes.symbols,
        chunks=notes.chunks,
        pending=notes.pending,
    )


ENDING = Ending(IngestNotes, to_result)
