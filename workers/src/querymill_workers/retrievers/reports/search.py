"""The `reports` kind: find the pages that answer a question. Read this file first.

    question -> original ───────────────────────┐
             -> hyde, synonym, … (chat model) ──┼-> route -> embed -> search (vectors, words) -> hits on the board
                                                │            └-> no vector in time: search (words)
                                                └-> the last branch ranks the hits and settles the job, or adds
                                                    the steps that rerank, and the step that writes the answer

Every branch is a step of its own, and no branch waits for another: the hits of the original are on the board while the
chat model is still writing. Rules and formulas: ``rules/``. Reranking: ``reranking.py``. Writing the answer:
``services/writing.py``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from querymill_shared.board import Claim, Outcome, Picture, Verdict, foresee
from querymill_shared.contracts.answer import ANSWER
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.reports.search import (
    HYDE,
    ORIGINAL,
    SUBQUESTION,
    WHY_NOT,
    ReportResult,
    ReportSearch,
)
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.inference.ports import Embeddings, cut_of
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S, caller_of
from querymill_workers.jobs.faults import Conflict, Failed, Refused, Unavailable
from querymill_workers.jobs.later_steps import add_steps
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps, missing, stage, timing, used, why_nothing, worth_telling
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.reports import reranking, why_not
from querymill_workers.retrievers.reports.choosing import choose_reports, own_documents, routing_of
from querymill_workers.retrievers.reports.findings import Findings
from querymill_workers.retrievers.reports.notes import BranchNotes
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, PassageText, ReportPorts
from querymill_workers.retrievers.reports.recall import (
    QueryVectors,
    Recalled,
    Unembedded,
    find_unembedded,
    recall,
    recall_by_words,
)
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.glossary import stated, terms_in
from querymill_workers.retrievers.reports.rules.routing import Route
from querymill_workers.services import writing
from querymill_workers.text.queries import distinct, normalise, without_thinking, wrapped
from querymill_workers.text.replies import has_table, is_refusal
from querymill_workers.vectors.question import compared_model, embed_by

#: A longer hypothetical answer is cut to this, in characters.
MAX_HYDE_CHARS = 2_000
#: The chat model is cut this long before the deadline, in seconds: the branch still has to embed and to search.
SEARCH_MARGIN_S = 0.12


@value
class Embedded:
    """The vectors of queries, or why they are ``lacking``."""

    vectors: QueryVectors = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    lacking: Unavailable | Refused | None = None


@value
class Found:
    """What a branch found, and the passages without a vector. ``lacking``: why its queries have no vectors."""

    recalled: Recalled
    unembedded: Unembedded = field(default_factory=Unembedded)
    usage: Usage = field(default_factory=Usage)
    lacking: Unavailable | Refused | None = None


def step(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Sequence[Bell]:
    """Run one branch: expand, drop queries that another branch searches, embed, search, finish."""
    if claim.step not in request.steps:
        return finish_branch(claim, run_later_step(claim, request, ports), request, ports)
    laps = Laps(ports)
    model = compared_model(EMBEDDABLE, request.collection, ports)
    is_original = claim.step == ORIGINAL
    chosen = choose_reports(request, claim.submitted, ports, tells_missing=is_original)
    laps.lap("route")
    try:
        proposed, usage = expand(claim, request, ports) if chosen.documents else ([], Usage())
    except (Unavailable, Refused) as error:
        log_failure(claim, error)
        laps.lap("expand")
        notes = StepNotes(timing=laps.ms).for_board()
        outcome = Outcome("failed", str(error), notes=notes, ms=laps.total_ms, code=error.code, parts=laps.parts)
        return finish_branch(claim, outcome, request, ports)
    laps.lap("expand")
    # No other branch may propose the original question, so nothing has to be taken for it.
    queries = proposed if is_original else ports.board.take_queries(claim, proposed, rivals=request.expansions)
    found = search_reports(queries, chosen, model, claim, request, ports, laps)
    branch = BranchNotes(
        timing=laps.ms,
        texts=() if is_original else tuple(proposed),
        usage=(usage + found.usage).noted(),
        routing=routing_of(chosen),
        unembedded=found.unembedded,
        words=found.recalled.words,
        unvectored="" if found.lacking is None else str(found.lacking),
        unvectored_code=None if found.lacking is None else found.lacking.code,
        sides=chosen.sides if is_original else (),
        missing=chosen.missing if is_original else (),
    )
    return finish_branch(
        claim,
        Outcome(hits=found.recalled.hits, notes=branch.for_board(), ms=laps.total_ms, parts=laps.parts),
        request,
        ports,
    )


def run_later_step(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Outcome:
    """Run a step that was added after the branches: a batch of the rerank, the answer, or its judgement."""
    picture = ports.board.picture(claim.job_id)
    findings = Findings(picture, request)
    if reranking.is_rerank(claim.step):
        return reranking.run_step(claim, findings, ports)
    if claim.step == WHY_NOT:
        return why_not.run_step(claim, findings, ports)
    return writing.run_step(claim, request, picture, reranking.sources_of(findings, ports), ports)


def expand(claim: Claim, request: ReportSearch, ports: ReportPorts) -> tuple[list[str], Usage]:
    """Return the queries of this branch: the question itself, or what the chat model makes of it.

    If the job has ended while the model wrote, there are none.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply holds no new query.
        Refused: Another call would not help.
    """
    if claim.step == ORIGINAL:
        return [normalise(request.query)], Usage()
    explained = terms_in(request.query, ports.glossary) if claim.step == "synonym" else {}
    terms = {name: term.explanation for name, term in explained.items()}
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model")
    reply, usage = ports.rewriter.rewrite(claim.step, request.query, terms=terms, caller=caller)
    if caller.has_left():
        return [], usage
    said = without_thinking(reply).strip()
    if is_refusal(said):
        raise Failed("the chat model refused to reply")
    if claim.step == HYDE and not has_table(said):
        raise Failed("the chat model's reply held no table")
    proposed = [said[:MAX_HYDE_CHARS]] if claim.step == HYDE else wrapped(said)
    fresh = distinct(request.query, proposed)[1:]
    if not fresh:
        raise Failed("the chat model's reply held no new query")
    return fresh, usage


def search_reports(
    queries: Sequence[str],
    chosen: Route,
    model: Embeddings,
    claim: Claim,
    request: ReportSearch,
    ports: ReportPorts,
    laps: Laps,
) -> Found:
    """Embed the queries, and find the passages of each query in the routed reports.

    Without vectors in time, words find them. A sub-question is searched in those of the reports that it names itself.

    Raises:
        Conflict: The collection has switched to another model since.
        Unavailable, Refused: There are neither vectors nor a text index that could be searched.
    """
    if not queries or not chosen.documents:
        return Found(Recalled())
    embedded = embed_queries(queries, model, claim, request, ports)
    laps.lap("embed")

    def documents_of(query: str) -> tuple[str, ...]:
        if claim.step != SUBQUESTION:
            return chosen.documents
        return own_documents(query, chosen, request, claim.submitted, ports)

    with ports.reports.reading():
        if ports.vectors["reports"].active_model(request.collection) not in (None, model.model):
            raise Conflict("the collection is searched by another model since")
        if embedded.lacking is None:
            recalled = recall(embedded.vectors, documents_of, chosen.sides, model.model, request, ports)
        else:
            try:
                recalled = recall_by_words(queries, documents_of, chosen.sides, model.model, request, ports)
            except Refused:
                raise embedded.lacking from None
        is_original = claim.step == ORIGINAL
        unembedded = find_unembedded(request, chosen.documents, model.model, ports) if is_original else Unembedded()
    laps.lap("search")
    if recalled.unsearched and not unembedded.unsearched:
        unembedded = replace(unembedded, unsearched=recalled.unsearched)
    return Found(recalled, unembedded, embedded.usage, embedded.lacking)


def embed_queries(
    queries: Sequence[str], model: Embeddings, claim: Claim, request: ReportSearch, ports: ReportPorts
) -> Embedded:
    """Embed the queries. Words can answer, so their vectors are waited for no longer than `EMBEDDING_PATIENCE_S`."""
    try:
        made = embed_by(
            model, claim, request, queries, ports, margin_s=SEARCH_MARGIN_S, patience_s=EMBEDDING_PATIENCE_S
        )
    except (Unavailable, Refused) as error:
        return Embedded(lacking=error)
    return Embedded(dict(zip(queries, made.vectors, strict=True)), made.usage)


def finish_branch(claim: Claim, outcome: Outcome, request: ReportSearch, ports: ReportPorts) -> Sequence[Bell]:
    """Close the branch on the board, and continue from the picture of the job."""
    foreseen = foresee(claim, outcome)
    findings = None if foreseen is None else Findings(foreseen, request)
    verdict = None if findings is None or next_steps(findings) else ending_of(findings, ports)
    picture = ports.board.finish(claim, outcome, verdict=verdict)
    return [] if picture is None else conclude(picture, request, ports, after=claim.step)


def next_steps(findings: Findings) -> list[str]:
    """Return the steps that follow, once no step is open. If none does, the job is to be settled."""
    picture, request = findings.picture, findings.request
    if reranking.wants_steps(findings):
        return reranking.batches(findings)
    if why_not.wants_step(picture, request) and findings.branches:
        return [WHY_NOT]
    step = writing.next_step(picture, request, has_sources=findings.has_sources)
    return [] if step is None else [step]


def conclude(picture: Picture, request: ReportSearch, ports: ReportPorts, *, after: str = "") -> Sequence[Bell]:
    """Settle the job if no step follows. Else report the ranking so far, and add the steps that follow."""
    findings = Findings(picture, request)
    is_last = picture.record.open_steps <= 0
    follow = next_steps(findings) if is_last else []
    if is_last and not follow:
        settle_found(findings, ports)
        return []
    # Readers see the hits before the answer begins. What comes after the answer does not change them.
    is_early = not follow or reranking.is_rerank(follow[0])
    if findings.has_hits and (follow == [ANSWER] or (is_early and worth_telling(picture))):
        ports.board.tell(picture.record.job_id, standing(findings, ports, after))
    return add_steps(picture, follow, request, ports) if follow else []


def standing(findings: Findings, ports: ReportPorts, after: str) -> Hits:
    """Return the ranking so far, while other branches or the answer are still running."""
    request, ranking = findings.request, findings.ranking
    titles = {card.sha1: card.title for card in ports.reports.cards(request.collection)}
    best = ranking[: request.top_n]
    texts = ports.reports.texts(request.collection, [hit.key for hit in best[:TOLD_TEXTS]])
    hits = tuple(partial_hit(hit.key, hit.score, titles.get(hit.key.document), texts.get(hit.key)) for hit in best)
    return Hits(after_stage=after, total=len(ranking), hits=hits)


def partial_hit(key: HitKey, score: float, title: str | None, found: PassageText | None) -> PartialHit:
    """Return a hit as it is told before the end, with the beginning of its text if that was read."""
    if found is None:
        return PartialHit(key=key.encoded(), score=score, title=title)
    return PartialHit(key=key.encoded(), score=score, title=title, page=found.page, text=found.text[:TOLD_CHARS])


def settle(picture: Picture, request: ReportSearch, ports: ReportPorts) -> None:
    """Fuse the hits and end the job. It fails, with the reasons, if no search has finished."""
    settle_found(Findings(picture, request), ports)


def settle_found(findings: Findings, ports: ReportPorts) -> None:
    """End the job with what was found."""
    ports.board.settle(findings.picture.record.job_id, ending_of(findings, ports))


def ending_of(findings: Findings, ports: ReportPorts) -> Verdict:
    """Return the verdict of what was found, or why its texts cannot be read.

    Raises:
        Unavailable: The store of the texts is away: the job is settled later.
    """
    try:
        return verdict(findings, ports)
    except Refused as error:
        return Verdict("failed", reason=str(error), code=error.code)


def verdict(findings: Findings, ports: ReportPorts) -> Verdict:
    """Build the verdict from what was found."""
    picture, request, notes = findings.picture, findings.request, findings.branches
    branches = [step for step in picture.steps if step.name in request.steps]
    searches = [branch for branch in branches if branch.state == "done"]
    # A branch whose queries were all dropped has not searched: alone it must not turn a failed search into "no hits".
    if not searches or not (findings.has_hits or searches[0].name == ORIGINAL):
        return lost(picture, why_nothing(picture))
    degraded = (
        *missing(picture.steps),
        *(
            Degradation(stage="embed", reason=reason, code=code)
            for reason, code in dict.fromkeys(
                (note.unvectored, note.unvectored_code) for note in notes.values() if note.unvectored
            )
        ),
        *missing_vectors(findings.unembedded),
        *(
            Degradation(stage="route", reason=reason, code="invalid")
            for note in notes.values()
            for reason in note.missing
        ),
        *cut_query(request, ports),
        *reranking.missing_judgements(findings),
        *writing.missing_answer(picture, request, has_sources=findings.has_sources),
    )
    result = ReportResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=reranking.final_hits(findings, ports),
        total=findings.total,
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(branch) for branch in picture.steps),
        timing=timing(picture, branches) | writing.timing(picture),
        usage=used(picture),
        routing=notes[searches[0].name].routing,
        expansion_texts={name: branch.texts for name, branch in notes.items() if branch.texts},
        answer=writing.read_answer(picture),
        why_not=why_not.read_absence(picture),
        terms=stated(request.query, ports.glossary) if request.glossary else {},
    )
    return done(result)


def cut_query(request: ReportSearch, ports: ReportPorts) -> tuple[Degradation, ...]:
    """Say that only the beginning of the question was searched, if the question is longer than the model's input."""
    cut = cut_of(request.query, compared_model(EMBEDDABLE, request.collection, ports))
    return () if cut is None else (Degradation(stage=ORIGINAL, reason=cut, code="cut"),)


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
