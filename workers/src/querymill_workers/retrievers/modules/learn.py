"""Learning a collection's lexicon in the background, and asking for it after ingestion.

However many documents come in, one learning waits at a time: it is named after the version it will replace.
Before one ends it looks back, and asks for the next if more came in meanwhile.
"""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.follow_up import asked_once
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.retrievers.modules.notes import LexiconNotes
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.lexicon import learn

#: Whoever ingests one document often ingests more: wait this long, in seconds, and longer for more documents,
#: so that learning takes a small share of the time that ingesting takes.
DEBOUNCE_S, DEBOUNCE_S_PER_DOCUMENT = 2.0, 0.001


def step(claim: Claim, request: LearnLexicon, ports: ModulePorts) -> Sequence[Bell]:
    """Learn from every description, and put the lexicon in force."""
    collection = request.collection
    before = ports.modules.vocabulary(collection)
    if before.changes == 0:
        raise Refused(f"collection: no code documents in {collection!r}")
    if request.background and claim.attempt == 1:
        delay = DEBOUNCE_S + DEBOUNCE_S_PER_DOCUMENT * before.changes
        ports.board.postpone(claim, delay_s=delay, reason="waiting for more documents")
        return []
    summaries = list(ports.modules.describe_all(collection))
    lexicon, version = before.lexicon, before.version
    if before.changes != before.learned_changes:
        lexicon = learn(summaries)
        version = ports.modules.publish_lexicon(collection, lexicon, replacing=version, changes=before.changes)
    notes = LexiconNotes(words=len(lexicon.words), version=version, documents=len(summaries))
    bells = learn_soon(collection, ports)
    hand_in(claim, request, notes, ENDING, ports)
    return bells


def learn_soon(collection: str, ports: ModulePorts) -> Sequence[Bell]:
    """Ask for the lexicon to be learned anew, unless it has seen everything, or that is asked for already."""
    known = ports.modules.vocabulary(collection)
    if known.changes == known.learned_changes:
        return []
    request = LearnLexicon(collection=collection, background=True)
    _, bells = asked_once(request, f"lexicon {known.version}", ports)
    return bells


def to_result(request: LearnLexicon, picture: Picture, notes: LexiconNotes) -> LexiconResult:
    """Say which lexicon is in force."""
    return LexiconResult(
        job_id=picture.record.job_id,
        total=notes.words,
        complete=True,
        collection=request.collection,
        version=notes.version,
        documents=notes.documents,
    )


ENDING: Final = Ending(LexiconNotes, to_result)
