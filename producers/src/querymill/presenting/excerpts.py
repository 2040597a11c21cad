"""Which part of a passage a person should read first: the lines in which the words of the question stand."""

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

#: Characters of an excerpt at most, without the marks that something was left out.
EXCERPT_CHARS: Final = 300
#: Of a longer question or passage only the beginning is looked at, in words and in characters.
MAX_QUESTION_WORDS: Final = 64
MAX_PASSAGE_CHARS: Final = 40_000

_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD: Final = re.compile(f"[{_IDEOGRAPHS}]+|[^\\W_{_IDEOGRAPHS}]+")
_IS_IDEOGRAPHIC: Final = re.compile(f"[{_IDEOGRAPHS}]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_TABLE_RULER: Final = re.compile(r"[|:\-\s]+")
#: A word of at least so many letters is the same word with one of these endings: "ship", "ships".
_SAME_BEGINNING: Final = 4
_ENDINGS: Final = ("s", "d", "r", "es", "ed", "er", "ly", "al", "ing", "ion", "ers", "ings", "ions")
#: What frames a question: it is neither looked for nor marked, unless a question has no other word.
_FUNCTION_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a an and are as at be been but by can could did do does for from had has have how i if in is it its me must"
        " my of on or our should so than that the their them there these they this those to was we were what when"
        " where which who whom whose why will with would you your",
    )
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a passage; rows of a table are lines. ``marks``: the (start, end) places of the question's words."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, or a row of a table, with the words of the question that it has."""

    text: str
    is_row: bool
    words: frozenset[str]


def excerpt(passage: str, question: str, *, max_chars: int = EXCERPT_CHARS) -> Excerpt:
    """Return the neighbouring sentences and rows, of at most ``max_chars`` characters, that say most of the question.

    A word of the question counts ln((pieces + ½) / pieces that have it), so that the words which every
    sentence of the passage has hardly count. If the passage has none of them, the excerpt is its beginning.

    >>> excerpt("The fleet grew. Nine ships were sold in May. Rates fell.", "which ships were sold?", max_chars=30).text
    '… Nine ships were sold in May. …'
    """
    words = question_words(question)
    pieces = list(_pieces(passage[:MAX_PASSAGE_CHARS], words, max_chars))
    if not pieces:
        return Excerpt("")
    first, end = _best_run(pieces, max_chars)
    text = _join(pieces[first:end])
    before, after = "… " if first else "", " …" if end < len(pieces) else ""
    shown = f"{before}{text}{after}"
    return Excerpt(shown, marks_of(shown, words))


def telling_sentence(passage: str, question: str) -> str:
    """Return the sentence, or the row of a table, that says most of a question; "" if none has a word of it.

    >>> telling_sentence("The fleet grew. Nine ships were sold in May. Rates fell.", "which ships were sold?")
    'Nine ships were sold in May.'
    """
    pieces = list(_pieces(passage[:MAX_PASSAGE_CHARS], question_words(question), MAX_PASSAGE_CHARS))
    worth = _worth(pieces)
    best = max(pieces, key=lambda piece: sum(worth[word] for word in piece.words), default=None)
    return best.text if best is not None and best.words else ""


def question_words(question: str) -> frozenset[str]:
    """Return the words of a question in lower case without function words; ideographs in pairs."""
    words: set[str] = set()
    for _, _, word in _words_of(question):
        words.add(word)
        if len(words) == MAX_QUESTION_WORDS:
            break
    return frozenset(words - _FUNCTION_WORDS or words)


def marks_of(text: str, words: frozenset[str]) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) places of the words in a text, in order; places that touch are one."""
    marks: list[tuple[int, int]] = []
    for start, end, word in _words_of(text):
        if _found_among(word, words) is None:
            continue
        if marks and start <= marks[-1][1]:
            marks[-1] = (marks[-1][0], end)
        else:
            marks.append((start, end))
    return tuple(marks)


def _words_of(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and lower-case form of each word; of ideographs, of each pair of neighbours."""
    for found in _WORD.finditer(text):
        start, end = found.span()
        if _IS_IDEOGRAPHIC.match(found[0]) and end - start > 1:
            yield from ((at, at + 2, text[at : at + 2]) for at in range(start, end - 1))
        else:
            yield start, end, found[0].casefold()


def _found_among(word: str, words: frozenset[str]) -> str | None:
    """Return the word of the question that this word is, perhaps with another ending."""
    if word in words:
        return word
    shorter = (word.removesuffix(ending) for ending in _ENDINGS if len(word) - len(ending) >= _SAME_BEGINNING)
    longer = (word + ending for ending in _ENDINGS if len(word) >= _SAME_BEGINNING)
    return next((other for other in chain(shorter, longer) if other in words), None)


def _pieces(passage: str, words: frozenset[str], max_chars: int) -> Iterator[_Piece]:
    for line in passage.splitlines():
        if _TABLE_RULER.fullmatch(line):
            continue
        is_row = line.lstrip().startswith("|")
        squeezed = " ".join(line.split())
        for sentence in [squeezed] if is_row else _SENTENCE_END.split(squeezed):
            for text in textwrap.wrap(sentence, max_chars) if len(sentence) > max_chars else [sentence]:
                found = {_found_among(word, words) for _, _, word in _words_of(text)}
                if text:
                    yield _Piece(text, is_row, frozenset(word for word in found if word is not None))


def _best_run(pieces: Sequence[_Piece], max_chars: int) -> tuple[int, int]:
    """Return the first piece of the best run and the one after its last; the earliest of equal ones."""
    worth = _worth(pieces)
    best, chosen = -1.0, (0, 1)
    for first, piece in enumerate(pieces):
        if first and not piece.words:
            continue
        said, end, length = set(piece.words), first + 1, len(piece.text)
        while end < len(pieces) and (length := length + 1 + len(pieces[end].text)) <= max_chars:
            said |= pieces[end].words
            end += 1
        if (sum_ := sum(worth[word] for word in said)) > best:
            best, chosen = sum_, (first, end)
    return chosen


def _worth(pieces: Sequence[_Piece]) -> dict[str, float]:
    """Return what each word of the question counts: the more, the fewer pieces have it."""
    having: dict[str, int] = {}
    for piece in pieces:
        for word in piece.words:
            having[word] = having.get(word, 0) + 1
    return {word: math.log((len(pieces) + 0.5) / count) for word, count in having.items()}


def _join(pieces: Sequence[_Piece]) -> str:
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        text += ("\n" if before.is_row or piece.is_row else " ") + piece.text
    return text
