"""What a chat model's reply gives a search: texts that say something new."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.branches import HYDE, STANDALONE
from querymill_workers.text.languages import language_of
from querymill_workers.text.queries import distinct, wrapped
from querymill_workers.text.reasoning import without_reasoning
from querymill_workers.text.stemming import stem
from querymill_workers.text.words import words

#: A longer hypothetical hit is cut to this, in characters.
MAX_HYDE_CHARS: Final = 2_000


def texts_in(method: str, reply: str, question: str) -> Sequence[str]:
    """Return the texts of a reply that are not the question itself: a hypothetical hit, or what is wrapped in ``<…>``.

    A question that was rewritten says nothing new if every word of it is one of the question's.

    >>> texts_in("variant", "<price of tin> <what does tin cost?>", "What does tin cost?")
    ['price of tin']
    >>> texts_in("standalone", "<What does tin cost?>", "what does it cost, tin?")
    []
    """
    if method == HYDE:
        return distinct(question, [without_reasoning(reply).strip()[:MAX_HYDE_CHARS]])[1:]
    if method != STANDALONE:
        return distinct(question, wrapped(reply))[1:]
    written = wrapped(reply, limit=1)
    return [text for text in written if not set(words(text)) <= set(words(question))]


def is_about(text: str, question: str) -> bool:
    """Return whether a text has a word of a question, or is in another language, in which it could have none.

    What a small model writes off the subject hardly ever has one: of 20 questions each of five kinds, 10 to 16 of the
    texts meant for them have one, and 0 to 5 of those meant for another question (`tests/quality/expansion.md`).

    >>> is_about("evict_expired: drops old entries of the cache", "who throws out old entries?")
    True
    >>> is_about("keepalive of idle connections", "who throws out old entries?")
    False
    """
    if language_of(text) != language_of(question):
        return True
    return not {stem(word) for word in words(text)}.isdisjoint(stem(word) for word in words(question))
