"""What a retriever adds to the words of a request: the English of Chinese words, and synonyms."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.languages import is_han
from querymill_workers.text.lexicon import LexiconRow

#: A term of the query adds at most this many synonyms.
MAX_PER_TERM: Final = 3
#: The weight of a synonym; a word of the query has weight 1.
WEIGHT: Final = 1 / 3
#: How often a text with synonyms has each word of the query.
TIMES: Final = 3
#: How much of the first message is read for the topic, in characters.
_OPENING: Final = 500


@value
class Expansion:
    """A term of the query, and the words that it added."""

    term: str
    synonyms: tuple[str, ...]


class Thesaurus:
    """The rows of the lexicon that one retriever reads. Of several rows of a term, the first comes first."""

    def __init__(self, rows: Iterable[LexiconRow]) -> None:
        english: dict[str, tuple[str, ...]] = {}
        synonyms: dict[str, tuple[str, ...]] = {}
        names: dict[str, str] = {}
        for row in rows:
            for term in row.terms:
                if row.english:
                    english[term] = tuple(dict.fromkeys((*english.get(term, ()), *row.english)))
                else:
                    others = (other for other in row.terms if other != term)
                    synonyms[term] = tuple(dict.fromkeys((*synonyms.get(term, ()), *others)))
                    names.setdefault(term, row.terms[0])
        self.english: Mapping[str, tuple[str, ...]] = english
        self.synonyms: Mapping[str, tuple[str, ...]] = synonyms
        self._names = names

    def translated(self, text: str) -> list[Expansion]:
        """List the Chinese words of a text that have English ones, in order, with these. The longest word counts.

        Worked example: 任务的时间限制 gives *task* for 任务, and *time* and *limit* for 时间限制.
        """
        return [Expansion(term, self.english[term]) for term in self._english_terms.findall(text.casefold())]

    def terms_in(self, text: str) -> list[str]:
        """List the terms with synonyms that occur in a text, each once, in order. Latin terms match whole words."""
        return list(dict.fromkeys(self._terms(text)))

    def expand(self, text: str) -> list[Expansion]:
        """List the synonyms to add to a query, except those that the query contains.

        Worked example: "db 超时" adds database and 数据库 for *db*, and timeout for 超时.
        """
        said = self.terms_in(text)
        found = []
        for term in said:
            synonyms = tuple(other for other in self.synonyms[term] if other not in said)[:MAX_PER_TERM]
            if synonyms:
                found.append(Expansion(term, synonyms))
        return found

    def topic_of(self, name: str, opening: str) -> str | None:
        """Return the topic of a session, or None: the first term in its name or else its opening, by its row's name."""
        term = next((term for text in (name, opening[:_OPENING]) for term in self._terms(text)), None)
        return None if term is None else self._names[term]

    def _terms(self, text: str) -> Iterator[str]:
        for match in self._synonym_terms.finditer(text.casefold()):
            yield match[0] if match[0] in self.synonyms else match[0].removesuffix("s")

    @cached_property
    def _english_terms(self) -> re.Pattern[str]:
        return longest_of(self.english)

    @cached_property
    def _synonym_terms(self) -> re.Pattern[str]:
        return longest_of(self.synonyms)


def longest_of(terms: Collection[str]) -> re.Pattern[str]:
    """Return a pattern that finds the longest of several terms, so that 缓存失效 is not read as 缓存.

    Terms without a Chinese character match whole words, and their plurals. Without terms, it finds nothing.
    """
    longest = sorted(terms, key=lambda term: (-len(term), term))
    escaped = ((re.escape(term), is_han(term)) for term in longest)
    each = [term if chinese else f"(?<![a-z0-9_]){term}s?(?![a-z0-9_])" for term, chinese in escaped]
    return re.compile("|".join(each) or r"(?!)")


def weighted(text: str, synonyms: Sequence[str]) -> str:
    """Build the text whose exact BM25 is 3 × (BM25 of the query + ⅓ × BM25 of the synonyms).

    BM25 counts a word as often as the query contains it, so repeating the query sets the weight exactly and the
    synonyms cannot dominate. Without synonyms, the text is the query itself.
    """
    return "\n".join([*[text] * TIMES, *synonyms]) if synonyms else text
