"""What a worker keeps of searches of conversations, so that asking again costs little."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from querymill_shared.contracts.conversations.search import Understanding
from querymill_workers.retrievers.conversations.rules.best_passage import Snippet
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.words.ports import WordHit

Value = TypeVar("Value")


class Cache(Protocol[Value]):
    """Values by key, each for a while; the least used goes when there are too many. Threads may share it."""

    def get(self, key: tuple[object, ...]) -> Value | None: ...

    def put(self, key: tuple[object, ...], value: Value) -> None: ...


@dataclass(frozen=True, slots=True)
class CachedConversation:
    """What ranking and the list show of a session, without its messages."""

    session_id: str
    name: str | None
    user_name: str | None
    started_at: datetime
    last_active: datetime
    parts: RankParts
    topic: str | None


@dataclass(frozen=True, slots=True)
class BestPassage:
    """The best passage of a session for one question, and the id of the message it is cut from."""

    snippet: Snippet
    message_id: str | None


@dataclass(frozen=True, slots=True)
class CachedSearch:
    """What a question found, whoever asks and whenever: nothing here depends on the time of the search.

    ``text`` is the text that was searched, synonyms and weights included; ``passages`` fills as hits are shown.
    """

    understanding: Understanding
    text: str
    candidates: tuple[WordHit, ...]
    passages: dict[str, BestPassage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationCaches:
    """One worker's caches; every key begins with the collection and its generation, so that none outlives a change."""

    sessions: Cache[CachedConversation]
    searches: Cache[CachedSearch]
