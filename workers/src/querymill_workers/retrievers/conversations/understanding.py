"""Understand a question: its time, its words without filler, their spelling and their synonyms."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from querymill_shared.contracts.conversations.search import (
    ConversationSearch,
    SpellingCorrection,
    SynonymsOf,
    Understanding,
    UnderstoodTime,
    zone_named,
)
from querymill_shared.values import frozen
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, Conversations
from querymill_workers.retrievers.conversations.rules.query_understanding import (
    importance,
    intent_of,
    keywords,
    mode_of,
    simplify,
)
from querymill_workers.retrievers.conversations.rules.spelling import Correction, corrected, corrections, suspects
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.times.find import Timed, find_time
from querymill_workers.retrievers.conversations.rules.translations import translate
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.text.words import words
from querymill_workers.words.ports import Words


@frozen
class Question:
    """A request with the time of asking, the time that its text mentions, and the generation of its collection."""

    request: ConversationSearch
    now: datetime
    timed: Timed | None
    generation: int

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the candidates depend on, as a cache key."""
        request, timed = self.request, self.timed
        conditions = json.dumps(dict(request.filter), sort_keys=True)
        switches = (request.time_filter, request.expansion, request.spelling, request.simplification, conditions)
        return (request.collection, self.generation, request.query, request.top_n, *switches, timed and timed.range)


def question_of(request: ConversationSearch, now: datetime, generation: int) -> Question:
    """Read the time that a request mentions, as of ``now``, unless its time filter is off."""
    zone = zone_named(request.time_zone)
    timed = find_time(request.query, now=now, zone=zone) if request.time_filter else None
    return Question(request, now, timed, generation)


def understand(question: Question, ports: ConversationPorts) -> Understanding:
    """Remove the time and the filler from the question, correct its spelling, and look up synonyms."""
    request, timed = question.request, question.timed
    technical = ports.technical_keywords.of(request.query)
    worth = importance(request.query, technical=len(technical))
    mode = mode_of(worth)
    # A question that is nothing but a time keeps its words, so that there is something to search for.
    text = timed.rest if timed is not None and words(timed.rest) else request.query
    simple = simplify(text) if request.simplification else None
    text = text if simple is None else simple.text
    made = find_corrections(text, request.collection, ports.words) if request.spelling else []
    text = corrected(text, made)
    wanted = mode == "deep" if request.expansion is None else request.expansion
    return Understanding(
        searched=text,
        intent=intent_of(request.query),
        importance=worth,
        mode=mode,
        keywords=tuple(keywords(text, technical_terms(text, ports.technical_keywords))),
        time=None if timed is None else UnderstoodTime(**asdict(timed.range), phrase=timed.phrase),
        corrections=tuple(SpellingCorrection(**asdict(correction)) for correction in made),
        synonyms=synonyms_of(text, ports.thesauri["conversations"]) if wanted else (),
        dropped=() if simple is None else simple.dropped,
    )


def synonyms_of(text: str, thesaurus: Thesaurus) -> tuple[SynonymsOf, ...]:
    """List the synonyms to search as well."""
    return tuple(SynonymsOf(**asdict(expansion)) for expansion in thesaurus.expand(text))


def translations_of(text: str, thesaurus: Thesaurus) -> tuple[SynonymsOf, ...]:
    """List what to search as well among sessions in another script."""
    return tuple(SynonymsOf(**asdict(expansion)) for expansion in translate(text, thesaurus))


def technical_terms(text: str, vocabulary: TechnicalKeywords) -> list[str]:
    """List the technical keywords of a text in the order of their first occurrence."""
    lower = text.lower()
    return sorted(vocabulary.of(text), key=lambda term: (lower.find(term), -len(term)))


def find_corrections(text: str, collection: str, postings: Words) -> list[Correction]:
    """Correct the words that the collection does not have, where it has a near one."""
    suspected = suspects(text)
    if not suspected:
        return []
    near = postings.near(collection, SPACE, sorted(set(suspected.values())))
    return corrections(suspected, near=near)


def sessions_passing(question: Question, conversations: Conversations) -> Sequence[str] | None:
    """List the sessions that pass the filter, or None if there is none."""
    request = question.request
    return conversations.passing(request.collection, request.filter) if request.filter else None


def sessions_in_time(question: Question, conversations: Conversations) -> Sequence[str] | None:
    """List the sessions that pass the filter and have a message in the time that the question mentions.

    Returns None if it mentions none.
    """
    if question.timed is None:
        return None
    request, span = question.request, question.timed.range
    return conversations.passing(request.collection, request.filter, start=span.start, end=span.end)
