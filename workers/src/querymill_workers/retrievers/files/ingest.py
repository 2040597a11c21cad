"""Ingesting files of a code base: searchable by words, names and patterns at once, by vectors later.

A file and its words change together, and an older version never replaces a newer one. If the job is killed, the next
attempt resumes: files that are already stored are skipped.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.ingest import IngestFiles, IngestFilesResult, SourceFile
from querymill_shared.contracts.ingest import IngestedDocument
from querymill_workers.documents.late_writes import drop_barred
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.ingesting import ending_of, ingest_slices
from querymill_workers.jobs.one_step import hand_in
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.retrievers.files.embed import ask_for_vectors, count_pending, embed_soon
from querymill_workers.retrievers.files.entry import entry_of
from querymill_workers.retrievers.files.notes import FileIngestNotes
from querymill_workers.retrievers.files.ports import KIND, SPACE, FileInfo, FilePorts, KeyedChunk, PreparedFile
from querymill_workers.retrievers.files.rules.chunking import CODE_CHUNKING_VERSION, chunk_code, embedded_text
from querymill_workers.retrievers.files.rules.code import CodeChunk, code_text, lines_of
from querymill_workers.vectors.keys import keys_of
from querymill_workers.versions.ports import Standing, Version, version_of
from querymill_workers.words.ports import WordUnit

#: Files that are stored in one change; at most these are repeated after a kill.
SLICE = 16
#: Tokens of a chunk with its path and symbol. They are estimated; the true number seldom exceeds the model's 480.
CHUNK_TOKENS = 400
#: The share of a smaller model's input that a chunk takes, because its tokens are estimated.
INPUT_SHARE = 0.8


def step(claim: Claim, request: IngestFiles, ports: FilePorts) -> Sequence[Bell]:
    """Ingest the files whose content differs from the stored one; submit the embedding of their chunks.

    Chunks are embedded if the collection is small, has vectors, or is asked to have them. If it had none, all
    its chunks are. A file of which a newer version was accepted, or that was dropped since, is left alone.
    """
    collection, version, symbols = request.collection, version_of(claim), 0
    # A second attempt cannot tell whether the first was the first to ask.
    embeds_all = request.vectors and (ask_for_vectors(collection, ports) or claim.attempt > 1)

    def store(files: Sequence[SourceFile]) -> list[IngestedDocument]:
        nonlocal symbols
        outcomes, changed = store_files(collection, files, version, ports)
        symbols += sum(len(file.symbols) for file in changed)
        return outcomes

    ingested = ingest_slices(claim, request.documents, store, ports, per_slice=SLICE)
    if ingested is None:
        return []  # comparing the code base submits the embedding of the stored files
    ports.board.add_collections("files", [collection])
    # Also of files that are stored already: an earlier attempt may have been killed before it submitted this.
    chunks = {file.document: max(file.total, 1) for file in ingested}
    bells = embed_soon(claim, request, None if embeds_all else chunks, ports)
    notes = FileIngestNotes(documents=tuple(ingested), symbols=symbols, pending=count_pending(collection, ports))
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def store_files(
    collection: str, files: Sequence[SourceFile], version: Version, ports: FilePorts
) -> tuple[list[IngestedDocument], Sequence[PreparedFile]]:
    """Store files and their words in one change. Return the outcome of each, and the files that were stored."""
    # Before the lock: parsing takes a while.
    prepared = {file.path: prepare_file(file, ports) for file in changed_files(collection, files, ports)}
    entries = {file.path: entry_of(file) for file in files}
    with ports.versions.changing(collection, KIND, list(entries.values()), version) as standings:
        drop_barred(collection, KIND, standings, ports)
        newest = [file for file in files if standings[file.path].newest]
        new = changed_files(collection, newest, ports)
        changed = {file.path: prepared.get(file.path) or prepare_file(file, ports) for file in new}
        if changed:
            units = [unit_of(file.info.path, file.content) for file in changed.values()]
            ports.words.put(collection, SPACE, units)
            ports.files.put(collection, list(changed.values()))
            ports.vectors[KIND].retry(collection, documents=list(changed))
            known = [(entries[file.path], revision_of(file.sha256, ports)) for file in new]
            ports.documents[KIND].put(collection, known)
    outcomes = [outcome_of(file.path, standings[file.path], changed.get(file.path)) for file in files]
    return outcomes, list(changed.values())


def outcome_of(path: str, standing: Standing, stored: PreparedFile | None) -> IngestedDocument:
    """Say what became of a file, which was ``stored`` if its content is new."""
    if not standing.newest:
        return IngestedDocument(document=path, outcome="forgotten" if standing.forgotten else "superseded")
    if stored is None:
        return IngestedDocument(document=path, outcome="unchanged")
    return IngestedDocument(document=path, outcome="ingested", total=len(stored.chunks))


def changed_files(collection: str, files: Sequence[SourceFile], ports: FilePorts) -> list[SourceFile]:
    """Return the files whose content differs from the stored one."""
    known = ports.documents[KIND].revisions(collection, [file.path for file in files])
    return [file for file in files if known.get(file.path) != revision_of(file.sha256, ports)]


def revision_of(sha256: str, ports: FilePorts) -> Revision:
    """Return the revision of a file: its content's hash and the versions of the rules that shape what is stored."""
    size = chunk_tokens(ports)
    sized = "" if size == CHUNK_TOKENS else f".{size}"
    return Revision(f"{CODE_CHUNKING_VERSION}.{ports.parser.version}{sized} {sha256}")


def chunk_tokens(ports: FilePorts) -> int:
    """Return how many tokens a chunk may have with its path and symbol, so that the model reads all of it."""
    return min(CHUNK_TOKENS, int(ports.embeddings.max_text_tokens * INPUT_SHARE))


def prepare_file(file: SourceFile, ports: FilePorts) -> PreparedFile:
    """Read the symbols of a file, and what is embedded of it."""
    parsed = ports.parser.parse(file.path, file.content)
    size = chunk_tokens(ports)
    room = max(size - ports.count_tokens(file.path), size // 2)
    chunks = chunk_code(file.content, parsed.symbols, count_tokens=ports.count_tokens, size=room)
    info = FileInfo(
        path=file.path,
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


ENDING: Final = ending_of(IngestFilesResult, FileIngestNotes)
