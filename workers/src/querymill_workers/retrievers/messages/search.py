"""`messages`: a question in, the messages that mean the same out.

    question -> embed -> nearest rows -> calibrated threshold -> hits           modes/vector.py
             │        ├-> and pending rows by text, at similarity 0.5
             │        └-> and rows by their own words, joined by rank           modes/hybrid.py
             ├-> ranking "best": words with neighbours, joined with vectors     modes/best.py
             │   (the words are searched while the question is embedded, and their hits are on the board at once)
             -> no vector: rows that contain the question, then by words        modes/text.py, and why

A search is one step. Each mode returns matches, which ``hits.py`` turns into hits.
"""

from concurrent.futures import Future
from dataclasses import replace
from typing import Final

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.values import value
from querymill_workers.inference.carrying import carry
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs import one_step
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.hits import ENDING, SearchNotes, findings_of
from querymill_workers.retrievers.messages.matches import CalibratedQuestion, Gap, MessageMatches
from querymill_workers.retrievers.messages.modes.best import rank_by_neighbours, search_best
from querymill_workers.retrievers.messages.modes.hybrid import search_hybrid
from querymill_workers.retrievers.messages.modes.text import search_text
from querymill_workers.retrievers.messages.modes.vector import search_vector
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.question_frames import unframed
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.why_not import SearchAgain, explain_absence
from querymill_workers.text.calibration import ROUNDING, Calibration
from querymill_workers.vectors.question import EmbeddedQuestion, compared_model, embed_by

#: Time kept free before the deadline, so that a search by text can follow a failed embedding, in seconds.
FALLBACK_MARGIN_S: Final = 0.3
#: What the hits on the board were found by, before the vector was there.
WORDS: Final = "words"


@value
class SearchModel:
    """The embedding model that a collection is searched by, and what its cosines mean."""

    embeddings: Embeddings
    calibration: Calibration


def step(claim: Claim, request: MessageSearch, ports: MessagePorts) -> None:
    """Search a collection. If the question gets no vector, the search is by text and does not fail."""
    laps = Laps(ports)
    asked = without_frame(request)
    matches, usage = find(claim, asked, laps, ports)
    laps.lap("search")
    absence = None
    if asked.why_not is not None:
        absence = explain_absence(asked, asked.why_not, matches, searching_again(matches, ports), ports)
        laps.lap("why_not")
    findings = findings_of(matches, request)
    notes = SearchNotes(found=findings, timing=laps.ms, usage=usage.noted(), why_not=absence)
    outcome = Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)
    one_step.close(claim, outcome, request, ENDING, ports)


def without_frame(request: MessageSearch) -> MessageSearch:
    """Return what is searched: with ranking "best", a question without the words that only ask for messages."""
    return request if request.ranking != "best" else request.model_copy(update={"query": unframed(request.query)})


def find(claim: Claim, request: MessageSearch, laps: Laps, ports: MessagePorts) -> tuple[MessageMatches, Usage]:
    """Choose the mode: with vectors if there are vectors to compare, else by text, saying why.

    Raises:
        Unavailable: A store is away. That is no reason to search by text: the next attempt finds it back.
    """
    where = filter_of(request)
    if request.ranking == "best" and not has_words(request.query):
        return nothing_asked(), Usage()
    first: MessageMatches | None = None
    try:
        model = model_of(request.collection, ports)
        embedding = begin_to_embed(claim, request, model, ports)
        if embedding is not None:
            first = search_words_first(claim, request, where, ports)
            laps.lap("words")
        embedded = embed(claim, request, model, ports) if embedding is None else embedding.result()
    except (Unavailable, Refused) as error:
        if error.code == "store_down":
            raise
        laps.lap("embed")
        if first is not None:
            return by_words_alone(first, why=str(error), code=error.code), Usage()
        return search_words(
            request, where, ports, model=ports.embeddings.model, why=str(error), code=error.code
        ), Usage()
    laps.lap("embed")
    question = calibrated(embedded, model, request)
    with ports.messages.snapshot():
        found = compare(request, where, question, ports)
        active = None if found.compared else ports.vectors[EMBEDDABLE.retriever].active_model(request.collection)
    if active not in (None, question.model):
        return find(claim, request, laps, ports)  # the collection has switched since
    if not found.compared:
        return found, embedded.usage
    cuts = (Gap("embed", cut, "cut") for cut in embedded.cuts)
    return replace(found, question=question, gaps=(*found.gaps, *cuts)), embedded.usage


def searching_again(first: MessageMatches, ports: MessagePorts) -> SearchAgain:
    """Return what searches once more as the first search did: with its vector, or without one."""

    def search(request: MessageSearch) -> MessageMatches:
        if request.ranking == "best" and not has_words(request.query):
            return nothing_asked()
        if first.question is None:
            model = ports.embeddings.model
            return search_words(request, filter_of(request), ports, model=model, why="", code="pending")
        asked = first.question
        floor = least_cosine(request.similarity_threshold, asked.calibration)
        return compare(request, filter_of(request), replace(asked, min_cosine=floor), ports)

    return search


def begin_to_embed(
    claim: Claim, request: MessageSearch, model: SearchModel, ports: MessagePorts
) -> "Future[EmbeddedQuestion] | None":
    """Begin to embed a question, if its words can answer meanwhile and its vector is not known already."""
    if request.ranking != "best":
        return None
    known = model.embeddings.cached([request.query], input_type="query", collection=request.collection)
    if known is not None:
        return None
    return carry(lambda: embed(claim, request, model, ports), name="question")


def search_words_first(
    claim: Claim, request: MessageSearch, where: MessageFilter, ports: MessagePorts
) -> MessageMatches:
    """Search by words while the question is embedded, and put the hits on the board.

    With the vector, the words are searched once more: both must see the same rows.
    """
    found = search_words(request, where, ports, model=ports.embeddings.model, why="", code="pending")
    if found.best:
        hits = tuple(
            PartialHit(
                key=match.row.vector_id, score=match.score,
                text=match.row.content[:TOLD_CHARS] if place < TOLD_TEXTS else None,
            )
            for place, match in enumerate(found.best)
        )  # fmt: skip
        ports.board.tell(claim.job_id, Hits(after_stage=WORDS, total=found.total, hits=hits))
    return found


def by_words_alone(first: MessageMatches, *, why: str, code: Code) -> MessageMatches:
    """Return what the words found first as the answer, with the reason why there is no vector."""
    others = (gap for gap in first.gaps if gap.stage != "embed")
    return replace(first, why=why, gaps=(Gap("embed", why, code), *others))


def filter_of(request: MessageSearch) -> MessageFilter:
    """Return which rows a request may find."""
    return MessageFilter(
        request.collection,
        request.vector_types,
        session_id=request.session_id,
        exclude_message_id=request.exclude_message_id,
        exclude_session_id=request.exclude_session_id,
        conditions=request.filter,
    )


def compare(
    request: MessageSearch, where: MessageFilter, question: CalibratedQuestion, ports: MessagePorts
) -> MessageMatches:
    """Search with vectors or, if no row has a vector to compare, by text."""
    search = search_best if request.ranking == "best" else search_hybrid if request.hybrid else search_vector
    found = replace(search(request, where, question, ports), uncalibrated=not question.calibration.points)
    if found.compared or not found.skipped:
        return found
    why = f"none of the {found.skipped} rows has a vector of {question.model} yet"
    words = search_words(request, where, ports, model=question.model, why=why, code="pending")
    return replace(words, skipped=found.skipped)


def search_words(
    request: MessageSearch, where: MessageFilter, ports: MessagePorts, *, model: str, why: str, code: Code
) -> MessageMatches:
    """Search by text alone: with the words of neighbours, unless the request is ranked by the rule of vectors."""
    rank = rank_by_neighbours if request.ranking == "best" else None
    return search_text(request, where, ports, model=model, why=why, code=code, rank=rank)


def has_words(query: str) -> bool:
    """Tell whether a question has a letter or a digit of any script."""
    return any(character.isalnum() for character in query)


def nothing_asked() -> MessageMatches:
    """Return the empty result of a question without a letter or digit."""
    return MessageMatches("hybrid", (), 0, total_is_exact=True, why="the query has no letter or digit")


def model_of(collection: str, ports: MessagePorts) -> SearchModel:
    """Return the model that a collection is searched by.

    Raises:
        Refused: The workers cannot ask that model.
    """
    model, previous = compared_model(EMBEDDABLE, collection, ports), ports.previous
    is_previous = previous is not None and model is previous.embeddings
    return SearchModel(model, previous.calibration if is_previous and previous is not None else ports.calibration)


def embed(claim: Claim, request: MessageSearch, model: SearchModel, ports: MessagePorts) -> EmbeddedQuestion:
    """Embed the question by the model.

    Raises:
        Unavailable, Refused: There is no vector in time.
    """
    return embed_by(
        model.embeddings, claim, request, [request.query], ports,
        margin_s=FALLBACK_MARGIN_S, patience_s=EMBEDDING_PATIENCE_S,
    )  # fmt: skip


def calibrated(embedded: EmbeddedQuestion, model: SearchModel, request: MessageSearch) -> CalibratedQuestion:
    """Turn the threshold of a question into a cosine, less what float32 cosines may differ by."""
    floor = least_cosine(request.similarity_threshold, model.calibration)
    return CalibratedQuestion(embedded.vectors[0], embedded.model, model.calibration, floor)


def least_cosine(threshold: float | None, calibration: Calibration) -> float:
    """Return the cosine that reaches a threshold, or one below all cosines if there is none."""
    return -2.0 if threshold is None else calibration.floor(threshold) - ROUNDING
