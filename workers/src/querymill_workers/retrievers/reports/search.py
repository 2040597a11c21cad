"""The `reports` kind: find the pages that answer a question. Read this file first.

    question -> original ───────────────────────┐
             -> hyde, synonym, … (chat model) ──┼-> route -> embed -> search -> hits on the board
                                                └-> the last branch fuses the hits and settles the job,
                                                    or adds the step that writes the answer

Every branch is a step of its own, and no branch waits for another: the hits of the original are on the board while the
chat model is still writing. Rules and formulas: ``rules/``. Writing the answer: ``services/writing.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from querymill_shared.board import Claim, Outcome, Picture, Verdict
from querymill_shared.contracts.answer import ANSWER, JUDGE
from querymill_shared.contracts.events import Hits, PartialHit
from querymill_shared.contracts.reports.search import HYDE, ORIGINAL, ReportHit, ReportResult, ReportSearch, Routing
from querymill_shared.hits import BoardHit
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps, missing, stage, timing, used, why_nothing, worth_telling
from querymill_workers.jobs.usage import Usage
from querymill_workers.jobs.verdicts import done, lost
from querymill_workers.retrievers.reports.ports import FoundPassage, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import FusedHit, HitKey, QueryHit, decode_key, explain, fuse
from querymill_workers.retrievers.reports.rules.glossary import terms_in
from querymill_workers.retrievers.reports.rules.routing import Route, route
from querymill_workers.services import writing
from querymill_workers.services.writing import CitableHit
from querymill_workers.text.queries import distinct, normalise, wrapped

#: If more documents are routed, they are searched together and not one by one.
MAX_DOCUMENTS_ONE_BY_ONE = 200
#: A longer hypothetical answer is cut to this, in characters.
MAX_HYDE_CHARS = 2_000
#: The chat model is cut this long before the deadline, in seconds: the branch still has to embed and to search.
SEARCH_MARGIN_S = 0.12


class BranchNotes(StepNotes):
    """The notes of a finished branch: the queries that it proposed, and the reports that it searched."""

    texts: tuple[str, ...] = ()
    routing: Routing


def step(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Sequence[Bell]:
    """Run one branch: expand, drop queries that another branch searches, embed, search, finish."""
    if claim.step in (ANSWER, JUDGE):
        picture = ports.board.picture(claim.job_id)
        sources = citable_hits(picture, request, ports)
        return finish_branch(claim, writing.run_step(claim, request, picture, sources, ports), request, ports)
    laps = Laps(ports)
    chosen = choose_reports(request, claim.submitted, ports)
    laps.lap("route")
    try:
        proposed, usage = expand(claim, request, ports) if chosen.documents else ([], Usage())
    except (Unavailable, Refused) as error:
        notes = StepNotes(timing=laps.ms)
        outcome = Outcome(state="failed", reason=str(error), notes=notes.for_board(), ms=laps.total_ms)
        return finish_branch(claim, outcome, request, ports)
    laps.lap("expand")
    # No other branch may propose the original question, so nothing has to be claimed for it.
    queries = proposed if claim.step == ORIGINAL else ports.board.take_queries(claim, proposed)
    hits, embedding = search_reports(queries, chosen, claim, request, ports, laps)
    branch = BranchNotes(
        timing=laps.ms,
        texts=() if claim.step == ORIGINAL else tuple(proposed),
        usage=(usage + embedding).noted(),
        routing=routing_of(chosen),
    )
    return finish_branch(claim, Outcome(hits=hits, notes=branch.for_board(), ms=laps.total_ms), request, ports)


def choose_reports(request: ReportSearch, submitted: float, ports: ReportPorts) -> Route:
    """Choose the reports to search: those that the request names, or those that the question is about."""
    cards = ports.reports.cards(request.collection, model=ports.embeddings.model)
    if request.documents is not None:
        known = {card.sha1 for card in cards}
        named = tuple(sorted(known.intersection(request.documents)))
        missing = len(request.documents) - len(named)
        reason = "documents named in the request" + (f"; {missing} of them not found" if missing else "")
        return Route(documents=named, companies=(), period=None, reason=reason, whole_collection=False)
    today = request.today or datetime.fromtimestamp(submitted, UTC).date()
    return route(request.query, cards, company=request.company, period=request.period, today=today)


def expand(claim: Claim, request: ReportSearch, ports: ReportPorts) -> tuple[list[str], Usage]:
    """Return the queries of this branch: the question itself, or what the chat model makes of it.

    Raises:
        Unavailable: The chat model did not reply in time, or its reply holds no new query.
        Refused: Another call would not help.
    """
    if claim.step == ORIGINAL:
        return [normalise(request.query)], Usage()
    terms = terms_in(request.query, ports.glossary) if claim.step == "synonym" else {}
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model")
    reply, usage = ports.rewriter.rewrite(claim.step, request.query, terms=terms, caller=caller)
    proposed = [reply[:MAX_HYDE_CHARS]] if claim.step == HYDE else wrapped(reply)
    fresh = distinct(request.query, proposed)[1:]
    if not fresh:
        raise Unavailable("the chat model's reply held no new query")
    return fresh, usage


def search_reports(
    queries: Sequence[str], chosen: Route, claim: Claim, request: ReportSearch, ports: ReportPorts, laps: Laps
) -> tuple[dict[str, tuple[BoardHit, ...]], Usage]:
    """Embed the queries, and find the passages of each query in the routed reports."""
    if not queries or not chosen.documents:
        return {}, Usage()
    caller = Caller(request.collection, request.lane, claim.expires_at)
    vectors, usage = ports.embeddings.embed(queries, input_type="query", caller=caller)
    laps.lap("embed")
    found = ports.reports.search(
        request.collection,
        dict(zip(queries, vectors, strict=True)),
        model=ports.embeddings.model,
        documents=chosen.documents,
        depth=request.depth,
        per_document=len(chosen.documents) <= MAX_DOCUMENTS_ONE_BY_ONE,
        pages=request.return_parent_pages,
    )
    laps.lap("search")
    return keyed(found, pages=request.return_parent_pages), usage


def finish_branch(claim: Claim, outcome: Outcome, request: ReportSearch, ports: ReportPorts) -> Sequence[Bell]:
    """Close the branch on the board, and continue from the picture of the job."""
    picture = ports.board.finish(claim, outcome)
    return [] if picture is None else conclude(picture, request, ports, after=claim.step)


def conclude(picture: Picture, request: ReportSearch, ports: ReportPorts, *, after: str = "") -> Sequence[Bell]:
    """Settle the job if no step follows. Else report the ranking so far, and add the next step if there is one."""
    is_last = picture.record.open_steps <= 0
    next_step = writing.next_step(picture, request, has_sources=has_sources(picture, request)) if is_last else None
    if is_last and next_step is None:
        settle(picture, request, ports)
        return []
    # Readers see the hits before the answer begins. They do not change between the answer and its judgement.
    if picture.hits and (worth_telling(picture) if next_step is None else next_step == ANSWER):
        ports.board.tell(picture.record.job_id, standing(picture, request, ports, after))
    return [] if next_step is None else writing.add_step(picture, next_step, request, ports)


def standing(picture: Picture, request: ReportSearch, ports: ReportPorts, after: str) -> Hits:
    """Return the ranking so far, while other branches or the answer are still running."""
    ranking = fused(picture, request)
    titles = {card.sha1: card.title for card in ports.reports.cards(request.collection, model=ports.embeddings.model)}
    best = tuple(
        PartialHit(key=hit.key.encoded(), score=hit.score, title=titles.get(hit.key.document))
        for hit in ranking[: request.top_n]
    )
    return Hits(after_stage=after, total=len(ranking), hits=best)


def settle(picture: Picture, request: ReportSearch, ports: ReportPorts) -> None:
    """Fuse the hits and end the job. It fails, with the reasons, if no search has finished."""
    try:
        ending = verdict(picture, request, ports)
    except (Unavailable, Refused) as error:
        ending = Verdict("failed", reason=str(error))
    ports.board.settle(picture.record.job_id, ending)


def verdict(picture: Picture, request: ReportSearch, ports: ReportPorts) -> Verdict:
    """Build the verdict from the picture of the job."""
    branches = [step for step in picture.steps if step.name not in (ANSWER, JUDGE)]
    searches = [branch for branch in branches if branch.state == "done"]
    # A branch whose queries were all dropped has not searched: alone it must not turn a failed search into "no hits".
    if not searches or not (picture.hits or searches[0].name == ORIGINAL):
        return lost(picture, why_nothing(picture))
    notes = {branch.name: BranchNotes.of(branch) for branch in searches}
    ranking = fused(picture, request)
    degraded = (
        *missing(picture.steps),
        *writing.missing_answer(picture, request, has_sources=has_sources(picture, request)),
    )
    result = ReportResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        results=load_hits(ranking[: request.top_n], request, ports),
        total=len(ranking),
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(branch) for branch in picture.steps),
        timing=timing(replace(picture, steps=tuple(branches))) | writing.timing(picture),
        usage=used(picture),
        routing=notes[searches[0].name].routing,
        expansion_texts={name: branch.texts for name, branch in notes.items() if branch.texts},
        answer=writing.read_answer(picture),
    )
    return done(result)


def fused(picture: Picture, request: ReportSearch) -> list[FusedHit]:
    """Fuse every (query, hit) pair on the board."""
    hits = [
        QueryHit(query=query, key=decode_key(hit.key), passage=hit.passage, inner_product=hit.score)
        for query, found in picture.hits.items()
        for hit in found
    ]
    return fuse(hits, top_n=len(hits), inner_factor=request.inner_factor)


def keyed(found: Sequence[FoundPassage], *, pages: bool) -> dict[str, tuple[BoardHit, ...]]:
    """Return the hits of each query. A page keeps its best passage."""
    best: dict[str, dict[str, BoardHit]] = {}
    for passage in found:
        hit = HitKey(passage.document, "page", passage.page)
        key = (hit if pages else HitKey(passage.document, "chunk", passage.chunk)).encoded()
        known = best.setdefault(passage.query, {}).get(key)
        if known is None or passage.inner_product > known.score:
            best[passage.query][key] = BoardHit(key, passage.inner_product, passage.chunk)
    return {query: tuple(hits.values()) for query, hits in best.items()}


def load_hits(ranking: Sequence[FusedHit], request: ReportSearch, ports: ReportPorts) -> tuple[ReportHit, ...]:
    """Return the hits with their texts. A hit whose report has been replaced since is dropped."""
    texts = ports.reports.texts(request.collection, [hit.key for hit in ranking])
    return tuple(
        ReportHit(
            document=hit.key.document,
            unit=hit.key.unit,
            number=hit.key.number,
            page=text.page,
            title=text.card.title,
            company=text.card.company,
            period=text.card.period,
            text=text.text,
            score=hit.score,
            similarity=hit.similarity,
            explanation=explain(hit, inner_factor=request.inner_factor),
        )
        for hit in ranking
        if (text := texts.get(hit.key)) is not None
    )


def citable_hits(picture: Picture, request: ReportSearch, ports: ReportPorts) -> list[CitableHit]:
    """Return the hits that the answer may cite, in the order of the result."""
    hits = load_hits(fused(picture, request)[: request.top_n], request, ports)
    return [
        CitableHit(HitKey(hit.document, hit.unit, hit.number).encoded(), hit.text, hit.page, hit.title) for hit in hits
    ]


def has_sources(picture: Picture, request: ReportSearch) -> bool:
    """Return whether an answer was asked for and there is a hit to write it from."""
    return request.answer and any(picture.hits.values())


def routing_of(chosen: Route) -> Routing:
    """Describe which reports were searched, how, and why."""
    many = len(chosen.documents) > MAX_DOCUMENTS_ONE_BY_ONE
    how = f"; more than {MAX_DOCUMENTS_ONE_BY_ONE}, so the best passages over all of them, not of each" if many else ""
    return Routing(
        documents=len(chosen.documents),
        companies=chosen.companies,
        period=chosen.period,
        whole_collection=chosen.whole_collection,
        reason=chosen.reason + how,
    )
