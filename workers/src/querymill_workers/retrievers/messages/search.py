"""`messages`: a question in, the messages that mean the same out.

    question -> embed -> nearest rows -> calibrated threshold -> hits           modes/vector.py
                      ├-> and pending rows by text, at similarity 0.5
                      └-> and rows by words, joined by rank                     modes/hybrid.py
             -> no vector: rows that contain the question, then by words        modes/text.py, and why

A search is one step. Each mode returns matches, which ``hits.py`` turns into hits.
"""

from dataclasses import dataclass, replace
from typing import Final

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs import one_step
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.messages.hits import ENDING, SearchNotes, findings_of
from querymill_workers.retrievers.messages.matches import EmbeddedQuestion, MessageMatches
from querymill_workers.retrievers.messages.modes.hybrid import search_hybrid
from querymill_workers.retrievers.messages.modes.text import search_text
from querymill_workers.retrievers.messages.modes.vector import search_vector
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.text.calibration import ROUNDING, Calibration

#: Time kept free before the deadline, so that a search by text can follow a failed embedding, in seconds.
FALLBACK_MARGIN_S: Final = 0.3


@dataclass(frozen=True, slots=True)
class SearchModel:
    """The embedding model that a collection is searched by, and what its cosines mean."""

    embeddings: Embeddings
    calibration: Calibration


def step(claim: Claim, request: MessageSearch, ports: MessagePorts) -> None:
    """Search a collection. If the question gets no vector, the search is by text and does not fail."""
    laps = Laps(ports)
    matches, usage = find(claim, request, laps, ports)
    laps.lap("search")
    notes = SearchNotes(found=findings_of(matches, request), timing=laps.ms, usage=usage.noted())
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms))
    if picture is not None:
        one_step.conclude(picture, request, ENDING, ports)


def find(claim: Claim, request: MessageSearch, laps: Laps, ports: MessagePorts) -> tuple[MessageMatches, Usage]:
    """Choose the mode: by vectors or hybrid if there are vectors to compare, else by text, saying why."""
    where = MessageFilter(request.collection, request.vector_types, request.session_id, request.exclude_message_id)
    try:
        model = model_of(request.collection, ports)
        question, usage = embed_question(claim, request, model, ports)
    except (Unavailable, Refused) as error:
        laps.lap("embed")
        return search_text(request, where, ports, model=ports.embeddings.model, why=str(error)), Usage()
    laps.lap("embed")
    search = search_hybrid if request.hybrid else search_vector
    found = search(request, where, question, ports)
    if not found.compared and found.skipped:
        why = f"none of the {found.skipped} rows has a vector of {question.model} yet"
        found = replace(search_text(request, where, ports, model=question.model, why=why), skipped=found.skipped)
    if not found.compared and ports.sessions.searched_by(request.collection) not in (None, question.model):
        return find(claim, request, laps, ports)  # the collection has switched to another model since
    return found, usage


def model_of(collection: str, ports: MessagePorts) -> SearchModel:
    """Return the model that a collection is searched by.

    Raises:
        Refused: The workers cannot ask that model.
    """
    searched_by = ports.sessions.searched_by(collection)
    if searched_by in (None, ports.embeddings.model):
        return SearchModel(ports.embeddings, ports.calibration)
    former = ports.former
    if former is None or searched_by != former.embeddings.model:
        raise Refused(
            f"the collection's vectors come from {searched_by} but the workers embed by {ports.embeddings.model};"
            f" run `querymill reembed messages`, or set QUERYMILL_FORMER_EMBEDDING_MODEL to {searched_by} until then"
        )
    return SearchModel(former.embeddings, former.calibration)


def embed_question(
    claim: Claim, request: MessageSearch, model: SearchModel, ports: MessagePorts
) -> tuple[EmbeddedQuestion, Usage]:
    """Embed the question, and turn its threshold into a cosine, less what float32 cosines may differ by.

    Raises:
        Unavailable, Refused: There is no vector in time.
    """
    caller = caller_of(claim, request, ports, margin_s=FALLBACK_MARGIN_S, what="the embedding model")
    vectors, usage = model.embeddings.embed([request.query], input_type="query", caller=caller)
    threshold = request.similarity_threshold
    min_cosine = -2.0 if threshold is None else model.calibration.floor(threshold) - ROUNDING
    return EmbeddedQuestion(vectors[0], model.embeddings.model, model.calibration, min_cosine), usage
