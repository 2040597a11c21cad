"""Understand a question: its time, its words without filler, their spelling and their synonyms."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Final

from querymill_shared.contracts.conversations.search import (
    DEEP_TOP_N,
    TOP_N,
    ConversationSearch,
    SearchMode,
    SpellingCorrection,
    SynonymsOf,
    Understanding,
    UnderstoodTime,
)
from querymill_shared.values import value
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import Understood
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.rules.numbered_names import with_numbers
from querymill_workers.retrievers.conversations.rules.spelling import corrected, corrections, suspects
from querymill_workers.retrievers.conversations.rules.subject import subject_of
from querymill_workers.retrievers.conversations.rules.times.find import Timed, TimeRange, find_time
from querymill_workers.retrievers.conversations.rules.traits import traits_of
from querymill_workers.retrievers.conversations.rules.translations import translate
from querymill_workers.text.in_context import QuestionInContext
from querymill_workers.text.thesaurus import Expansion

#: How many sessions are passed to ranking.
CANDIDATES: Final[Mapping[SearchMode, int]] = {"normal": 50, "deep": 100}


@value
class ConversationQuestion:
    """A request with the time of asking, the time that its text means, and what else its text says.

    ``generation`` is that of its collection at the time of asking. ``key`` is everything that the candidates depend on,
    as a cache key.
    """

    request: ConversationSearch
    now: datetime
    generation: int
    span: TimeRange | None
    key: tuple[object, ...]
    text: Understood

    @property
    def limit(self) -> int:
        """The number of hits: that of the request, else the default of the search mode."""
        return self.request.top_n or (DEEP_TOP_N if self.text.understanding.mode == "deep" else TOP_N)

    @property
    def before(self) -> QuestionInContext:
        """What the earlier turns of the chat add to the question."""
        return context_of(self.request)

    @property
    def embedded(self) -> str:
        """What is embedded: the subject of the question under those of the turns that it leans on."""
        own = self.text.subject.embedded
        turns = [subject_of(turn, None, simplifies=self.request.simplification).embedded for turn in self.before.before]
        return "\n".join([*reversed(turns), own]) if own else ""

    @property
    def is_recap(self) -> bool:
        """Whether the question is nothing but a time. One that leans on the turn before is about its subject."""
        return self.text.subject.is_recap and not self.before.before

    @property
    def candidates(self) -> int:
        """The number of sessions that are passed to ranking."""
        return CANDIDATES[self.text.understanding.mode]


def understand_question(request: ConversationSearch, now: datetime, ports: ConversationPorts) -> ConversationQuestion:
    """Read the time that a request means as of ``now``, and its other words, or take these from the cache."""
    generation = ports.conversations.generation(request.collection)
    zone, locale = request.zone, request.locale
    timed = find_time(request.query, now=now, zone=zone, locale=locale) if request.time_filter else None
    span = None if timed is None else timed.range
    key = key_of(request, generation, span)
    understood = ports.conversation_caches.questions.get(key)
    if understood is None:
        understood = read_text(request, timed, ports)
        ports.conversation_caches.questions.put(key, understood)
    return ConversationQuestion(request, now, generation, span, key, understood)


def key_of(request: ConversationSearch, generation: int, span: TimeRange | None) -> tuple[object, ...]:
    """Return the cache key of a question. It begins with the collection and its generation."""
    conditions = json.dumps(dict(request.filter), sort_keys=True)
    switches = (request.time_filter, request.expansion, request.spelling, request.simplification, conditions)
    return (request.collection, generation, request.query, request.history, request.top_n, *switches, span)


def read_text(request: ConversationSearch, timed: Timed | None, ports: ConversationPorts) -> Understood:
    """Remove the time and the filler from the question, correct its spelling, and look up synonyms."""
    subject = subject_of(request.query, None if timed is None else timed.rest, simplifies=request.simplification)
    suspected = suspects(subject.text) if request.spelling else {}
    near = ports.words.near(request.collection, SPACE, sorted(set(suspected.values()))) if suspected else {}
    made = corrections(suspected, near=near)
    searched = corrected(subject.text, made)
    traits = traits_of(request.query, searched, ports.technical_keywords)
    thesaurus = ports.thesauri["conversations"]
    synonyms = synonyms_of(thesaurus.expand(searched))
    expands = traits.mode == "deep" if request.expansion is None else request.expansion
    understanding = Understanding(
        searched=searched,
        intent=traits.intent,
        importance=traits.importance,
        mode=traits.mode,
        keywords=traits.keywords,
        time=None if timed is None else UnderstoodTime(**asdict(timed.range), phrase=timed.phrase),
        corrections=tuple(SpellingCorrection(**asdict(correction)) for correction in made),
        synonyms=synonyms if expands else (),
        dropped=subject.dropped,
    )
    translations = synonyms_of(translate(searched, thesaurus))
    return Understood(understanding, subject, traits, with_numbers(searched), synonyms, translations)


def synonyms_of(expansions: Iterable[Expansion]) -> tuple[SynonymsOf, ...]:
    """List what to search as well."""
    return tuple(SynonymsOf(**asdict(expansion)) for expansion in expansions)
