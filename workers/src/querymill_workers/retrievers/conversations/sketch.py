"""What the facts of a session are found from, without its texts: one more message costs no reading of the others.

A sketch grows with the vocabulary of a session, not with its length.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Self

from querymill_shared.contracts.sessions import ChatMessage
from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.key_phrases import count_phrases, most_telling, phrase_number
from querymill_workers.retrievers.conversations.rules.passages import EMPTY, Fill, fill_up
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.rules.session_signs import Sign, Turn, is_solved_by, signs_of
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords


@value
class Sketch:
    """Of the whole session that others were added to, the ids and signs of its messages; of all, phrases and terms.

    ``fill`` is the last passage of the session.
    """

    ids: frozenset[str] = frozenset()
    signs: tuple[int, ...] = ()
    phrases: Mapping[str, int] = field(default_factory=dict)
    terms: frozenset[str] = frozenset()
    fill: Fill = EMPTY

    def to_json(self) -> dict[str, Any]:
        """Return what is stored."""
        return {
            "ids": sorted(self.ids), "signs": self.signs, "phrases": dict(self.phrases), "terms": sorted(self.terms),
            "fill": self.fill,
        }  # fmt: skip

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read what was stored."""
        ids, signs, terms = frozenset(stored["ids"]), tuple(stored["signs"]), frozenset(stored["terms"])
        number, chars = stored["fill"]
        return cls(ids, signs, stored["phrases"], terms, (number, chars))


def sketch_of(whole: Sequence[ChatMessage], live: Sequence[ChatMessage], vocabulary: TechnicalKeywords) -> Sketch:
    """Sketch a session from the messages of its last whole version, and those that were added since."""
    ids = frozenset(message.message_id for message in whole if message.message_id is not None)
    signs = tuple(int(signs_in(message)) for message in whole)
    return extend_sketch(Sketch(ids, signs), (*whole, *live), vocabulary)


def extend_sketch(sketch: Sketch, messages: Sequence[ChatMessage], vocabulary: TechnicalKeywords) -> Sketch:
    """Add messages that the session did not have."""
    text = "\n".join(message.text for message in messages)
    fills = fill_up((len(message.text) for message in messages), sketch.fill)
    return replace(
        sketch,
        fill=fills[-1] if fills else sketch.fill,
        phrases=Counter(sketch.phrases) + count_phrases(text),
        terms=sketch.terms | vocabulary.of(text),
    )


def signs_in(message: ChatMessage) -> Sign:
    """Return the signs in one message."""
    return signs_of(Turn(message.role, message.text))


def facts_from(
    session_id: str, sketch: Sketch, live_signs: Sequence[int], *, started_at: datetime, last_active: datetime
) -> SessionFacts:
    """Find the facts of a session: those that `facts_of` finds in its messages.

    Args:
        session_id: The session.
        sketch: Its sketch.
        live_signs: The signs of the messages that were added to the whole session, in order.
        started_at: When the session began.
        last_active: The time of its latest message.
    """
    signs = [Sign(number) for number in (*sketch.signs, *live_signs)]
    return SessionFacts(
        session_id, started_at, last_active, len(signs), len(sketch.terms), is_solved_by(signs),
        any(Sign.EARLIER in sign for sign in signs), frozenset(map(phrase_number, most_telling(sketch.phrases))),
    )  # fmt: skip
