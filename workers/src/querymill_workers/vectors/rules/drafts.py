"""Draft a question from a passage: one of its sentences, looked for in what is left of the passage.

The sentence is taken out of the passage, so that its words do not find it merely because they were copied (the inverse
cloze task: Lee, Chang and Toutanova, "Latent Retrieval for Weakly Supervised Open Domain Question Answering", 2019).
"""

import hashlib
import re
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.words import words

#: The fewest different words of a question, and of what is left of its passage.
MIN_WORDS, MIN_REST_WORDS = 4, 3
#: Blank-separated tokens of a question: every second one is short, as questions to a search box are.
LONG, SHORT = 25, 10
#: The fewest function words of a sentence that is prose; names, tables and code have none.
PROSE: Final = 2
#: The fewest tokens, or characters of a text without blanks, that are cut in two if there is no other sentence.
MIN_TOKENS, MIN_CHARS = 8, 16
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


@value
class Draft:
    """A question drafted from a passage, the part that it was ``taken`` from, and the rest, which answers it."""

    question: str
    rest: str
    taken: str


def draft(text: str) -> Draft | None:
    r"""Draft a question from a passage, the same each time; None if the passage is too short for one.

    A sentence of prose is preferred: people ask in prose, of code and tables too. A text of one sentence is cut in two.

    Worked example: of "Ships sail west. The crew of the red ship sleeps below deck. Anchors hold.", the second
    sentence is the question (it has function words), and "Ships sail west.\nAnchors hold." is the rest.
    """
    chance = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    long_enough = [place for place, part in enumerate(sentences) if len(set(words(part))) >= MIN_WORDS]
    places = [place for place in long_enough if _count_function_words(sentences[place]) >= PROSE] or long_enough
    if len(sentences) > 1 and places:
        place = places[chance % len(places)]
        asked, rest = sentences[place], "\n".join(sentences[:place] + sentences[place + 1 :])
    else:
        halves = _halves(text)
        if halves is None:
            return None
        asked, rest = halves if chance % 2 else halves[::-1]
    if len(set(words(rest))) < MIN_REST_WORDS or not words(asked):
        return None
    return Draft(_cut(asked, LONG if chance // 2 % 2 else SHORT, chance), rest, asked)


def _count_function_words(sentence: str) -> int:
    return sum(token.isalpha() and not words(token) for token in sentence.split())


def _halves(text: str) -> tuple[str, str] | None:
    tokens = text.split()
    if len(tokens) >= MIN_TOKENS:
        middle = len(tokens) // 2
        return " ".join(tokens[:middle]), " ".join(tokens[middle:])
    whole = text.strip()
    if len(tokens) > 1 or len(whole) < MIN_CHARS:
        return None
    middle = len(whole) // 2
    return whole[:middle], whole[middle:]


def _cut(question: str, most: int, chance: int) -> str:
    tokens = question.split()
    if len(tokens) <= most:
        return question
    start = chance // 4 % (len(tokens) - most + 1)
    return " ".join(tokens[start : start + most])
