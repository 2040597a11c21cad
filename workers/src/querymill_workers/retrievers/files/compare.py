"""Comparing a code base with its stored files: what changed, what was removed, what has no vector yet."""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import CompareFiles, CompareFilesResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.files.embed import ask_for_vectors, count_pending, embed_soon
from querymill_workers.retrievers.files.ingest import revision_of
from querymill_workers.retrievers.files.notes import CompareNotes
from querymill_workers.retrievers.files.ports import KIND, SPACE, DropPorts, FilePorts
from querymill_workers.versions.ports import Version, WrittenDocument, version_of

#: Files dropped between two checks that the job has not been cancelled.
SLICE = 50
#: Files that are confirmed in one change. Each takes a lock, and the server has some thousands for all workers.
CONFIRMED_TOGETHER = 200


def step(claim: Claim, request: CompareFiles, ports: FilePorts) -> Sequence[Bell]:
    """List the files that are new or changed, and if asked drop those that are no longer in the code base.

    A list of the whole code base makes every file outdated that was accepted before it and is not stored yet: if it
    is on the list, it is among the changed ones. A file that is stored as it is listed counts as accepted with the
    list.
    """
    collection, version = request.collection, version_of(claim)
    if request.remove:
        ports.versions.leave_filter_tombstone(collection, KIND, version)
        confirm(request, version, ports)
    known = ports.documents[KIND].revisions(collection)
    changed = [path for path, sha256 in request.files.items() if known.get(path) != revision_of(sha256, ports)]
    gone = sorted(known.keys() - request.files.keys()) if request.remove else []
    removed: list[str] = []
    for start in range(0, len(gone), SLICE):
        removed += drop_files(collection, gone[start : start + SLICE], version, ports)
        progress = Progress(stage=claim.step, done=min(start + SLICE, len(gone)), total=len(gone))
        if not ports.board.append_event(claim.job_id, progress):
            return []  # cancelled; dropped files stay dropped
    if removed:
        ports.samples.renew_soon()
    if len(known) > len(removed):
        ports.board.add_collections("files", [collection])  # again: the board may have been emptied
    if request.vectors:
        ask_for_vectors(collection, ports)
    bells = embed_soon(claim, request, None, ports)
    pending = count_pending(collection, ports)
    notes = CompareNotes(total=len(request.files), changed=tuple(changed), removed=tuple(removed), pending=pending)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def confirm(request: CompareFiles, version: Version, ports: FilePorts) -> None:
    """Give the files that are stored as they are listed the version of the list, as if they were ingested again.

    The tombstone of the list has taken theirs. A file without one is dropped by the next write from before the list.
    """
    known = ports.documents[KIND].revisions(request.collection)
    listed = known.keys() & request.files
    unchanged = sorted(path for path in listed if known[path] == revision_of(request.files[path], ports))
    for start in range(0, len(unchanged), CONFIRMED_TOGETHER):
        some = [WrittenDocument(path) for path in unchanged[start : start + CONFIRMED_TOGETHER]]
        with ports.versions.changing(request.collection, KIND, some, version):
            pass  # at its end they have the version


def drop_files(collection: str, paths: Sequence[str], version: Version, ports: FilePorts) -> Sequence[str]:
    """Drop files with their words in one change, except those of which a newer version was accepted; return which."""
    with ports.versions.changing(
        collection, KIND, [WrittenDocument(path) for path in paths], version, whole=False
    ) as standings:
        gone = [path for path in paths if standings[path].newest]
        drop_rows(collection, gone, ports)
        ports.versions.leave_tombstones(collection, KIND, gone, version)
    return gone


def drop_rows(collection: str, paths: Sequence[str], ports: DropPorts) -> None:
    """Drop files with their words and vectors, within a versioned change of them."""
    # Every writer locks the words before the rows, so no two of them deadlock.
    ports.words.drop(collection, SPACE, paths)
    ports.documents[KIND].drop(collection, paths)
    ports.files.drop(collection, paths)
    ports.vectors[KIND].begin_embedding(collection, paths)


def to_result(request: CompareFiles, picture: Picture, notes: CompareNotes) -> CompareFilesResult:
    """Report which files to ingest, and which were dropped."""
    return CompareFilesResult(
        job_id=picture.record.job_id,
        complete=True,
        collection=request.collection,
        total=notes.total,
        changed=notes.changed,
        removed=notes.removed,
        pending=notes.pending,
    )


ENDING = Ending(CompareNotes, to_result)
