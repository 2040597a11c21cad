"""What a worker caches of searches of conversations, so that repeating a search costs little."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from querymill_shared.contracts.conversations.search import SynonymsOf, Understanding
from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.session_hits import SessionHit
from querymill_workers.retrievers.conversations.rules.subject import QuestionSubject
from querymill_workers.retrievers.conversations.rules.traits import Traits

Value = TypeVar("Value")


class Cache(Protocol[Value]):
    """Values by key, each with a time to live. A full cache evicts the least recently used. Threads may share it."""

    def get(self, key: tuple[object, ...]) -> Value | None: ...

    def put(self, key: tuple[object, ...], value: Value) -> None: ...


@value
class CachedConversation:
    """What ranking and hits need of a session, without its messages."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    parts: RankParts
    topic: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class BestPassage:
    """The best passage of a session for one question: its message's id, its place from 0, and its time.

    ``source`` and ``line`` are the file of the message and its line there, if they are known.
    """

    snippet: Snippet
    message_id: str | None
    place: int | None = None
    created_at: datetime | None = None
    source: str | None = None
    line: int | None = None


@value
class Understood:
    """What the text of a question says, the same for all who ask it.

    ``numbered`` is the text that is searched, in which the numbers of names count more. ``synonyms`` and
    ``translations`` are searched as well if its words find little, or sessions in another script.
    """

    understanding: Understanding
    subject: QuestionSubject
    traits: Traits
    numbered: str
    synonyms: tuple[SynonymsOf, ...] = ()
    translations: tuple[SynonymsOf, ...] = ()


@value
class CachedSearch:
    """What a question found. Nothing here depends on the caller or on the time of the search.

    ``text`` is the searched text, with synonyms and weights. ``passages`` fills as searches show hits. ``relaxed`` are
    the candidates that are not from the time that was asked for, or None if that time was kept to. ``groups`` are the
    sessions that were searched, or None for all. ``is_recap`` tells that the question is nothing but a time.
    """

    understanding: Understanding
    text: str
    candidates: tuple[SessionHit, ...]
    relaxed: frozenset[str] | None = None
    passages: dict[str, BestPassage] = field(default_factory=dict)
    groups: Sequence[str] | None = None
    is_recap: bool = False


@value
class ConversationCaches:
    """The caches of one worker. Each key begins with a collection and its generation, so no value outlives a change."""

    sessions: Cache[CachedConversation]
    questions: Cache[Understood]
    searches: Cache[CachedSearch]
