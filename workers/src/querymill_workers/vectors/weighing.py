"""Weigh the vectors of a collection: draft questions from its passages, embed them, and see who finds the passages.

A job does it once every passage has a vector, and again when the collection has doubled. What it keeps, searches read.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from zlib import crc32

import numpy as np

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.vectors import WeighVectors, WeighVectorsResult
from querymill_shared.values import value
from querymill_workers.inference.ports import Embeddings
from querymill_workers.inference.refusals import TextRefusal, embed_each
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import NotFound
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.languages import Language, language_of
from querymill_workers.text.words import words
from querymill_workers.vectors.embedding import JOB_PASSAGES, Embeddable
from querymill_workers.vectors.ports import Passage, Vector, VectorPorts
from querymill_workers.vectors.question import compared_model
from querymill_workers.vectors.rules.drafts import Draft, draft
from querymill_workers.vectors.rules.known_items import AskedPassage, Floats, SampledPassage, find_items
from querymill_workers.vectors.rules.worth import estimate_worth

#: Counts by document the words that are indexed of it. A document that is left out is found by those of its passage.
IndexedWords = Callable[[Sequence[str]], Mapping[str, Mapping[str, float]]]
#: Passages of the sample, and of those the ones that questions are drafted from.
SAMPLE, QUESTIONS = 1_000, 128
#: A smaller collection is not weighed: too few questions, with too few passages beside the right one.
MIN_PASSAGES: Final = 100
#: How much a collection has grown when it is weighed again.
GROWTH: Final = 2


class WeighNotes(Notes):
    """What was estimated of which model, by how many questions, and the provider calls and tokens."""

    model: str
    items: int
    weight: float | None
    low: float
    high: float
    words: float
    vectors: float
    usage: dict[str, int]


@value
class DraftedPassage:
    """The passage at ``place`` of the sample, and the question that was drafted from it."""

    place: int
    passage: Passage
    draft: Draft


def submit_weighing(claim: Claim, collection: str, target: Embeddable, ports: VectorPorts) -> Sequence[Bell]:
    """Submit the job that weighs the vectors that searches compare, if that is due, and return its bells.

    It is due once every passage has a vector, and nothing is known of the model, or only of half the passages. Counting
    a large collection takes long, and many jobs embed it: none counts while documents wait for another job, and of
    those that follow an estimate about one does for as many passages as it was made of.
    """
    vectors = ports.vectors[target.retriever]
    model = vectors.active_model(collection)
    if model is None or vectors.is_awaited(collection):
        return []
    known = vectors.worth(collection, model=model)
    if known is not None and crc32(claim.job_id.encode()) % max(known.passages // JOB_PASSAGES, 1):
        return []
    counted = vectors.counts(collection, model=model)
    if counted.pending or counted.passages < max(MIN_PASSAGES, GROWTH * known.passages if known else 0):
        return []
    request = WeighVectors(collection=collection, retriever=target.retriever, model=model, lane=Lane.BULK)
    return submit_once(request, f"weigh {target.retriever} {collection} {model}", ports)[1]


def weigh_vectors(
    claim: Claim, request: WeighVectors, target: Embeddable, ports: VectorPorts, indexed: IndexedWords
) -> None:
    """Estimate what the vectors of a model are worth on a collection, and keep it.

    ``indexed`` counts the words by which documents are found, where these are more than what is embedded of them.

    Raises:
        NotFound: The collection has no vectors.
        Refused: The workers cannot ask the model any more.
    """
    collection, vectors = request.collection, ports.vectors[target.retriever]
    model = find_model(request, target, ports)
    passages = vectors.counts(collection, model=model.model).passages
    drawn = vectors.sample(collection, model=model.model, limit=SAMPLE)
    drafted = draft_questions([passage for passage, _ in drawn])
    asked, usage = list[AskedPassage](), ProviderUsage()
    for start in range(0, len(drafted), target.batch):
        some = drafted[start : start + target.batch]
        found, spent = embed_drafts(some, model, collection, Caller.of(claim, request, ports), ports, target)
        asked, usage = [*asked, *found], usage + spent
        progress = Progress(stage=claim.step, done=start + len(some), total=len(drafted))
        if not ports.board.append_event(claim.job_id, progress):
            return  # cancelled
    chinese = sum(language_of(item.draft.question) == "zh" for item in asked)
    language: Language = "zh" if chinese > len(asked) / 2 else "en"
    worth = estimate_worth(find_items(sampled(drawn, indexed), asked), passages=passages, language=language)
    vectors.keep_worth(collection, worth, model=model.model)
    notes = WeighNotes(
        model=model.model, items=worth.items, weight=worth.weight, low=worth.low, high=worth.high,
        words=worth.words, vectors=worth.vectors, usage=usage.noted(),
    )  # fmt: skip
    hand_in(claim, request, notes, ENDING, ports)


def draft_questions(passages: Sequence[Passage]) -> list[DraftedPassage]:
    """Draft questions from the first passages that are long enough."""
    drafted: list[DraftedPassage] = []
    for place, passage in enumerate(passages):
        if len(drafted) == QUESTIONS:
            break
        if (made := draft(passage.text)) is not None:
            drafted.append(DraftedPassage(place, passage, made))
    return drafted


def embed_drafts(
    drafted: Sequence[DraftedPassage],
    model: Embeddings,
    collection: str,
    caller: Caller,
    ports: VectorPorts,
    target: Embeddable,
) -> tuple[list[AskedPassage], ProviderUsage]:
    """Embed questions and what answers them, of passages that are stored still; those refused are left out."""
    stored = set(ports.vectors[target.retriever].still_stored(collection, [each.passage for each in drafted]))
    left = [each for each in drafted if each.passage in stored]
    questions, asking = embed_each([each.draft.question for each in left], model, input_type="query", caller=caller)
    rests, reading = embed_each([each.draft.rest for each in left], model, input_type="passage", caller=caller)
    made = [
        AskedPassage(each.place, each.draft, normalised(question), normalised(rest))
        for each, question, rest in zip(left, questions, rests, strict=True)
        if not isinstance(question, TextRefusal) and not isinstance(rest, TextRefusal)
    ]
    return made, asking + reading


def sampled(drawn: Sequence[tuple[Passage, Vector]], indexed: IndexedWords) -> list[SampledPassage]:
    """Return the sample as the rules take it."""
    counts = indexed(list(dict.fromkeys(passage.document for passage, _ in drawn)))
    return [
        SampledPassage(
            passage.document, counts.get(passage.document) or Counter(words(passage.text)), normalised(vector)
        )
        for passage, vector in drawn
    ]


def normalised(vector: Vector) -> Floats:
    """Return a vector with length 1; one of noughts as it is."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def find_model(request: WeighVectors, target: Embeddable, ports: VectorPorts) -> Embeddings:
    """Return the model whose vectors are weighed: that of the request, or else the one that searches compare.

    Raises:
        NotFound: The collection has no vectors.
        Refused: The workers cannot ask the model any more.
    """
    active = ports.vectors[target.retriever].active_model(request.collection)
    if active is None:
        raise NotFound(f"collection: the {target.retriever} in {request.collection!r} have no vectors")
    if request.model not in (None, active):
        raise NotFound(f"model: searches of {request.collection!r} compare {active!r}, not {request.model!r}")
    return compared_model(target, request.collection, ports)


def to_result(request: WeighVectors, picture: Picture, notes: WeighNotes) -> WeighVectorsResult:
    """Build the result from the notes."""
    return WeighVectorsResult(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        model=notes.model,
        total=notes.items,
        weight=notes.weight,
        low=notes.low,
        high=notes.high,
        words=notes.words,
        vectors=notes.vectors,
        usage=notes.usage,
        complete=True,
    )


ENDING: Final = Ending(WeighNotes, to_result)
