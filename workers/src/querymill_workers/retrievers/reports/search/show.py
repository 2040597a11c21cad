"""What the caller reads: the ranking so far while the job runs, and the result at its end."""

from collections.abc import Iterator, Sequence

from querymill_shared.board import Verdict
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.reports.search import WHY_NOT, ReportResult
from querymill_shared.contracts.rerank import RERANK
from querymill_shared.contracts.results import Degradation
from querymill_workers.inference.ports import cut_of
from querymill_workers.jobs.deadline import CUT
from querymill_workers.jobs.in_chat import context_of, texts_of, use_of
from querymill_workers.jobs.stages import missing, stage, timing, used
from querymill_workers.jobs.verdicts import done, lost_search
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, PassageText, ReportPorts
from querymill_workers.retrievers.reports.rules.glossary import stated
from querymill_workers.retrievers.reports.rules.joining import RankedHit
from querymill_workers.retrievers.reports.search.hits import ShownHit
from querymill_workers.retrievers.reports.search.notes import AbsenceNotes, Unembedded
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches
from querymill_workers.services.judging import unjudged
from querymill_workers.services.writing import read_written
from querymill_workers.vectors.question import compared_model


def show_ranking(found: FoundByBranches, ports: ReportPorts, after: str) -> Hits:
    """Return the ranking so far, while other branches or the answer are still running.

    The first hits have their title, their page and the beginning of their text.
    """
    collection = found.request.collection
    titles = {card.sha1: card.title for card in ports.reports.cards(collection)}
    best = found.ranking[: found.request.top_n]
    texts = ports.reports.texts(collection, [hit.key for hit in best[:TOLD_TEXTS]])
    hits = (partial_hit(hit, titles.get(hit.key.document), texts.get(hit.key)) for hit in best)
    return Hits(after_stage=after, total=len(found.ranking), hits=tuple(hits))


def partial_hit(hit: RankedHit, title: str | None, text: PassageText | None) -> PartialHit:
    """Return a hit as it is told before the end, with the beginning of its text if that was read."""
    page, begins = (None, None) if text is None else (text.page, text.text[:TOLD_CHARS])
    return PartialHit(key=hit.key.encoded(), score=hit.score, title=title, page=page, text=begins)


def show_result(hits: Sequence[ShownHit], found: FoundByBranches, ports: ReportPorts) -> Verdict:
    """Return the verdict of what was found. The job fails, with the reasons, if no search has finished.

    Raises:
        Refused: The workers cannot ask the model that the collection is searched by.
    """
    picture, request, notes = found.picture, found.request, found.branches
    branches = [step for step in picture.steps if step.name in request.steps]
    searches = [branch for branch in branches if branch.state == "done"]
    # A branch whose queries were all dropped has not searched: alone it must not turn a failed search into "no hits".
    if not searches or not (found.has_hits or searches[0].name == ORIGINAL):
        return lost_search(picture)
    asked = context_of(request)
    written = read_written(picture, request, has_sources=found.has_sources)
    degraded = (*missing(picture.steps), *missing_parts(found, ports), *written.missing)
    absences = [AbsenceNotes.of(step).why_not for step in picture.steps if (step.name, step.state) == (WHY_NOT, "done")]
    result = ReportResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=tuple(hit.shown for hit in hits),
        total=found.total,
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(step) for step in picture.steps),
        usage=used(picture),
        timing=timing(picture, branches) | written.timing,
        answer=written.answer,
        routing=notes[searches[0].name].routing,
        expansion_texts=texts_of(asked) | {name: branch.texts for name, branch in notes.items() if branch.texts},
        history=use_of(request),
        why_not=absences[0] if absences else None,
        terms=stated(request.query, ports.glossary) if request.glossary else {},
    )
    return done(result, picture)


def missing_parts(found: FoundByBranches, ports: ReportPorts) -> Iterator[Degradation]:
    """Name what the branches could not compare, and what the judge did not read. For failed steps see `missing`."""
    reasons = {(note.unvectored, note.unvectored_code): None for note in found.branches.values() if note.unvectored}
    for reason, code in reasons:
        yield Degradation(stage="embed", reason=reason, code=code)
    yield from missing_vectors(found.unembedded)
    for note in found.branches.values():
        for reason in note.missing:
            yield Degradation(stage="route", reason=reason, code="invalid")
    # Of a question that is longer than the model's input, only the beginning was searched.
    asked = context_of(found.request)
    cut = cut_of(asked.meaning, compared_model(EMBEDDABLE, found.request.collection, ports))
    if cut is not None:
        yield Degradation(stage=ORIGINAL, reason=cut, code="cut")
    if found.missing_batches:
        yield Degradation(stage=RERANK, reason=CUT, code="deadline")
    if found.lacks_why_not:
        yield Degradation(stage=WHY_NOT, reason=CUT, code="deadline")
    yield from unjudged(found.batches)


def missing_vectors(unembedded: Unembedded) -> Iterator[Degradation]:
    """Name the passages that no vector could find."""
    counted: tuple[tuple[int, str, Code], ...] = (
        (unembedded.pending, "pending", "pending"),
        (unembedded.refused, "set aside: the provider refused the text", "provider_refused"),
    )
    for passages, what, code in counted:
        if passages:
            reason = f"{passages} {'passage' if passages == 1 else 'passages'} {what}"
            yield Degradation(stage="embed", reason=reason, code=code)
    if unembedded.unsearched:
        yield Degradation(stage="words", reason=unembedded.unsearched, code="pending")
