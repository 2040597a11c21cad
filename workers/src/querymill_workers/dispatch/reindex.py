"""Making a collection's words anew from what is stored, after the tokeniser changed.

The new words stand beside the old ones until all are there; what is ingested meanwhile goes to the new ones by itself.
Killed anywhere, the next attempt skips the texts whose words are there.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from querymill_shared.board import Claim
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reindex import IndexedKind, Reindex, ReindexResult
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Notes
from querymill_workers.retrievers.conversations import ingest as ingest_conversations
from querymill_workers.retrievers.files import ingest as ingest_files
from querymill_workers.retrievers.files.rules import code
from querymill_workers.retrievers.messages import ingest as ingest_messages
from querymill_workers.retrievers.modules import search as modules
from querymill_workers.retrievers.modules.rules.text import searchable_text
from querymill_workers.words.ports import WordUnit

#: Documents whose words are made in one transaction.
DOCUMENTS_BATCH = 100


def step(claim: Claim, request: Reindex, ports: Ports) -> Sequence[Bell]:
    """Make the words anew where they are stale, and have them searched."""
    collection = request.collection
    stale = [space for space in spaces_of(request.of) if ports.words.stale(collection, space)]
    total = 0
    for done, of_all, texts in reindexed(request, ports) if stale else ():
        total += texts
        if not ports.board.tell(claim.job_id, Progress(stage=claim.step, done=done, total=of_all)):
            return []  # cancelled; the words that are there are skipped next time
    for space in stale:
        ports.words.publish(collection, space)
    notes = {"outcome": "reindexed" if stale else "fresh", "total": total}
    return one_step.hand_in(claim, notes, to_result, ports)


def spaces_of(kind: IndexedKind) -> Sequence[str]:
    """Name the spaces of words that a kind is found by."""
    match kind:
        case "messages":
            return list(ingest_messages.SPACES.values())
        case "modules":
            return [modules.SPACE]
        case "conversations":
            return [ingest_conversations.SPACE]
        case "files":
            return [code.SPACE]
        case _:
            assert_never(kind)


def reindexed(request: Reindex, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Make the words of all that is stored, some at a time; gives how much is done, of how much, and how many texts."""
    match request.of:
        case "messages":
            return messages_reindexed(request.collection, ports)
        case "modules":
            return modules_reindexed(request.collection, ports)
        case "conversations":
            return conversations_reindexed(request.collection, ports)
        case "files":
            return files_reindexed(request.collection, ports)
        case _:
            assert_never(request.of)


def messages_reindexed(collection: str, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Go through the sessions; nobody changes one while its words are made."""
    sessions = ports.sessions.ids(collection)
    for done, session_id in enumerate(sessions, start=1):
        with ports.sessions.changing(collection, session_id):
            passages = ports.sessions.passages(collection, session_id)
            for vector_type, some in ingest_messages.by_type(passages):
                units = ingest_messages.units_of(session_id, some)
                ports.words.refill(collection, ingest_messages.SPACES[vector_type], units)
        yield done, len(sessions), len(passages)


def modules_reindexed(collection: str, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Go through the code documents; one that is ingested meanwhile has its words already, and keeps them."""
    ids = [card.document for card in ports.modules.every_card(collection)]
    for start in range(0, len(ids), DOCUMENTS_BATCH):
        documents = ports.modules.documents(collection, ids[start : start + DOCUMENTS_BATCH])
        units = [
            WordUnit(
                modules.encoded(id_),
                searchable_text(document.meta_info.description, document.meta_info.vtkjs_modules, document.code),
            )
            for id_, document in documents.items()
        ]
        ports.words.refill(collection, modules.SPACE, units)
        yield min(start + DOCUMENTS_BATCH, len(ids)), len(ids), len(units)


def conversations_reindexed(collection: str, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Go through the sessions; no other worker changes a session while its words are made."""
    ids = ports.conversations.active_between(collection, None, None)
    for done, session_id in enumerate(ids, start=1):
        with ports.conversations.changing(collection, session_id):
            known = ports.conversations.stored(collection, session_id)
            units = [] if known is None else [ingest_conversations.unit_of(known.session)]
            ports.words.refill(collection, ingest_conversations.SPACE, units)
        yield done, len(ids), len(units)


def files_reindexed(collection: str, ports: Ports) -> Iterator[tuple[int, int, int]]:
    """Go through the files of a code base; nobody changes one while its words are made."""
    paths = sorted(ports.files.revisions(collection))
    for start in range(0, len(paths), DOCUMENTS_BATCH):
        some = paths[start : start + DOCUMENTS_BATCH]
        with ports.files.changing(collection, some):
            units = [ingest_files.unit_of(*file) for file in ports.files.contents(collection, some).items()]
            ports.words.refill(collection, code.SPACE, units)
        yield min(start + DOCUMENTS_BATCH, len(paths)), len(paths), len(units)


def to_result(request: Reindex, job_id: str, notes: Notes) -> ReindexResult:
    """Say what was done."""
    return ReindexResult(job_id=job_id, of=request.of, complete=True, **notes)
