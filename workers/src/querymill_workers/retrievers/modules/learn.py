"""Learn a collection's lexicon, and submit the job that does so after ingestion.

At most one such job waits per collection: its key is the version of the lexicon that it will replace. Before the job
ends, it submits the next one if documents were ingested while it learned.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import NotFound
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.modules.notes import LexiconNotes
from querymill_workers.retrievers.modules.ports import KIND, NO_VERSION, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import shown_id
from querymill_workers.retrievers.modules.rules.lexicon import learn
from querymill_workers.versions.ports import WrittenDocument

#: How long learning in the background waits for more documents, in seconds. The wait grows with the collection, so
#: that learning takes a small share of the time that ingestion takes.
DEBOUNCE_S, DEBOUNCE_S_PER_DOCUMENT = 2.0, 0.001


def step(claim: Claim, request: LearnLexicon, ports: ModulePorts) -> Sequence[Bell]:
    """Learn a lexicon from every description, and publish it.

    Raises:
        NotFound: The collection holds no document.
    """
    collection = request.collection
    repair_unsettled(collection, ports)
    before = ports.modules.vocabulary(collection)
    if before.changes == 0:
        raise NotFound(f"collection: no code documents in {collection!r}")
    if request.background and claim.counts.pauses == 0:
        delay = DEBOUNCE_S + DEBOUNCE_S_PER_DOCUMENT * before.changes
        ports.board.postpone(claim, delay_s=delay, reason="waiting for more documents", cause="pause")
        return []
    summaries = list(ports.modules.describe_all(collection))
    lexicon, version = before.lexicon, before.version
    if before.changes != before.learned_changes:
        lexicon = learn(summaries)
        version = ports.modules.publish_lexicon(collection, lexicon, replacing=version, changes=before.changes)
    notes = LexiconNotes(words=len(lexicon.words), version=version, documents=len(summaries))
    bells = submit_learning(collection, ports)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def repair_unsettled(collection: str, ports: ModulePorts) -> None:
    """Put right what writers that died have left. Whoever still writes a document is waited for."""
    for document in ports.modules.unsettled(collection):
        subject = WrittenDocument(shown_id(document))
        with ports.versions.changing(collection, KIND, [subject], NO_VERSION, whole=False):
            ports.modules.repair(collection, document)


def submit_learning(collection: str, ports: ModulePorts) -> Sequence[Bell]:
    """Submit the learning of the lexicon, unless it is up to date or such a job is still open; return the bells."""
    known = ports.modules.vocabulary(collection)
    if known.changes == known.learned_changes:
        return []
    request = LearnLexicon(collection=collection, background=True)
    _, bells = submit_once(request, f"lexicon {known.version}", ports)
    return bells


def to_result(request: LearnLexicon, picture: Picture, notes: LexiconNotes) -> LexiconResult:
    """Return which lexicon is in use."""
    return LexiconResult(
        job_id=picture.record.job_id,
        total=notes.words,
        complete=True,
        collection=request.collection,
        version=notes.version,
        documents=notes.documents,
    )


ENDING: Final = Ending(LexiconNotes, to_result)
