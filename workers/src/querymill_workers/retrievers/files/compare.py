"""Comparing a code base with its stored files: what changed, what was removed, what has no vector yet."""

from collections.abc import Sequence

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import CompareFiles, CompareFilesResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.files.embed import embed_soon
from querymill_workers.retrievers.files.ingest import revision_of
from querymill_workers.retrievers.files.notes import CompareNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts

#: Files dropped between two checks that the job has not been cancelled.
SLICE = 50


def step(claim: Claim, request: CompareFiles, ports: FilePorts) -> Sequence[Bell]:
    """List the files that are new or changed, and if asked drop those that are no longer in the code base."""
    collection, known = request.collection, ports.files.revisions(request.collection)
    changed = [path for path, sha256 in request.files.items() if known.get(path) != revision_of(sha256, ports.parser)]
    gone = sorted(known.keys() - request.files.keys()) if request.remove else []
    for start in range(0, len(gone), SLICE):
        paths = gone[start : start + SLICE]
        with ports.files.changing(collection, paths):
            ports.words.drop(collection, SPACE, paths)  # first: a kill must not leave words without a file
            ports.files.drop(collection, paths)
        progress = Progress(stage=claim.step, done=start + len(paths), total=len(gone))
        if not ports.board.tell(claim.job_id, progress):
            return []  # cancelled; dropped files stay dropped
    if len(known) > len(gone):
        ports.board.add_collections("files", [collection])  # again: the board may have been emptied
    bells = embed_soon(collection, [], ports, after=claim.job_id)
    pending = ports.files.counts(collection, model=ports.embeddings.model).pending
    notes = CompareNotes(total=len(request.files), changed=tuple(changed), removed=tuple(gone), pending=pending)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


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
