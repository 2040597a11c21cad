"""The channels of a search that read the words of the request: its text, and the vectors of descriptions.

text of the request, or of each given sub-query ─┬─> words: BM25 of the text, names and rare modules
└─> vectors: cosines of the descriptions
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.modules.describe import EMBEDDABLE
from querymill_workers.retrievers.modules.ports import SPACE, ModulePorts, Vocabulary
from querymill_workers.retrievers.modules.rules.chinese import with_english
from querymill_workers.retrievers.modules.rules.documents import DocumentId, decode_id, encode_id, order_of
from querymill_workers.retrievers.modules.rules.fields import field_bonus, field_terms, rarity_of
from querymill_workers.retrievers.modules.rules.join import TEXT, VECTORS, text_channel, vectors_channel
from querymill_workers.retrievers.modules.rules.scores import SubQuery
from querymill_workers.retrievers.modules.rules.text import without_texts
from querymill_workers.text.words import words
from querymill_workers.vectors.question import embed_question
from querymill_workers.words.narrowing import search_among

#: Documents whose names and rare modules are looked at in the text channel, whatever ``candidates`` are asked for.
TEXT_CANDIDATES: Final = 200
#: Time before the deadline that is reserved for comparing vectors after the question is embedded, in seconds.
COMPARE_MARGIN_S: Final = 0.2

Ranking = list[tuple[DocumentId, float]]


@value
class Asked:
    """What is searched: texts by the name of their text channel, the channels, and the passing documents (None: all).

    ``unknown`` are the parts of the texts that name modules which no document has.
    """

    texts: Mapping[str, str]
    channels: Sequence[str]
    unknown: Sequence[str]
    vocabulary: Vocabulary
    passing: AbstractSet[DocumentId] | None


@dataclass(slots=True)
class Lists:
    """What the channels found: a ranking for each, with its scores. A channel that failed has none."""

    found: dict[str, Ranking] = field(default_factory=dict)
    degraded: list[Degradation] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)


def texts_of(sub_queries: Sequence[SubQuery], request: ModuleSearch) -> dict[str, str]:
    """Return the texts to search by, by the name of their text channel: the request, or its given sub-queries."""
    if not request.sub_queries:
        return {TEXT: request.query}
    return {text_channel(place): part.description for place, part in enumerate(sub_queries, start=1)}


def search_lists(asked: Asked, claim: Claim, request: ModuleSearch, ports: ModulePorts, laps: Laps) -> Lists:
    """Search the texts by words and by vectors, as far as these are among the channels, among the passing documents.

    If one of them does not respond and something else was searched, its reason is noted.

    Raises:
        Unavailable, Refused: Nothing was searched: the request asks for no other channel, or all failed.
    """
    lists = Lists()
    if TEXT in asked.channels:
        try:
            lists.found |= search_words(asked, request, ports)
        except Unavailable as error:
            if len(asked.channels) == 1:
                raise
            lists.degraded.append(Degradation(stage=TEXT, reason=str(error), code=error.code))
        laps.lap("text")
    if VECTORS in asked.channels:
        is_alone = len(asked.channels) == 1 + len(lists.degraded)
        try:
            search_vectors(asked, lists, claim, request, ports, patience_s=None if is_alone else EMBEDDING_PATIENCE_S)
        except (Unavailable, Refused) as error:
            if is_alone:
                raise
            lists.degraded.append(Degradation(stage=VECTORS, reason=str(error), code=error.code))
        laps.lap("vectors")
    return lists


def search_words(asked: Asked, request: ModuleSearch, ports: ModulePorts) -> dict[str, Ranking]:
    """Rank the passing documents by the words of each text."""
    ids = None if asked.passing is None else {encode_id(document) for document in asked.passing}
    thesaurus = ports.thesauri["modules"]
    said = {
        channel: with_english(without_texts(text, asked.unknown), thesaurus) for channel, text in asked.texts.items()
    }
    return {channel: rank_by_text(text, asked.vocabulary, request, ids, ports) for channel, text in said.items()}


def rank_by_text(
    text: str, vocabulary: Vocabulary, request: ModuleSearch, ids: AbstractSet[str] | None, ports: ModulePorts
) -> Ranking:
    """Rank documents by BM25 of their text, and by their names and rare modules."""
    query, names = Counter(words(text)), vocabulary.names
    hits = search_among(
        ports.words, request.collection, SPACE, text,
        limit=max(TEXT_CANDIDATES, request.candidates), among=ids, also=field_terms(query, names),
    )  # fmt: skip
    scored = [(hit.id, hit.scored) for hit in hits if hit.scored is not None]
    rarity = rarity_of([each for _, each in scored], names)
    ranked = [(decode_id(id_), each.score + field_bonus(each, query, names, rarity=rarity)) for id_, each in scored]
    return sorted(ranked, key=lambda hit: (-hit[1], order_of(hit[0])))[: request.candidates]


def search_vectors(
    asked: Asked, lists: Lists, claim: Claim, request: ModuleSearch, ports: ModulePorts, *, patience_s: float | None
) -> None:
    """Add the documents whose descriptions are nearest to each text, and name what could not be compared.

    Raises:
        Unavailable, Refused: The texts got no vectors within ``patience_s`` seconds, or before the deadline.
    """
    texts = list(asked.texts.values())
    question = embed_question(
        EMBEDDABLE, claim, request, texts, ports, margin_s=COMPARE_MARGIN_S, patience_s=patience_s
    )  # fmt: skip
    lists.usage = question.usage
    among, pending = None if asked.passing is None else list(asked.passing), 0
    for channel, vector in zip(asked.texts, question.vectors, strict=True):
        near = ports.descriptions.nearest(
            request.collection, vector, model=question.model, limit=request.candidates, documents=among
        )
        lists.found[vectors_channel(channel)], pending = list(near.found), near.pending
    if pending:
        reason = f"{pending} {'description' if pending == 1 else 'descriptions'} pending"
        lists.degraded.append(Degradation(stage="embed", reason=reason, code="pending"))
    lists.degraded += [Degradation(stage="embed", reason=cut, code="cut") for cut in question.cuts]
