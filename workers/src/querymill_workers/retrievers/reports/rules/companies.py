"""Company names: find those that a question uses, in any spelling."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, NewType

from querymill_shared.values import value

CompanyId = NewType("CompanyId", str)

# A run of letters and digits, or one character of a script without blanks between words.
_WORD: Final = re.compile(
    "[0-9A-Za-z\u00c0-\u02af\u0370-\u10ff\u1e00-\u1fff]+|[\u1100-\u11ff\u2e80-\u2fff\u3005-\u3007\u3040-\ufaff]"
    "|[\U00020000-\U0003ffff]"
)
_FIRST_WORD: Final = re.compile("([0-9A-Za-z]+)|[\u4e00-\u9fff]")
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_LEGAL_FORMS: Final = (
    "inc incorporated corp corporation ltd limited plc llc lp llp sa s.a ag gmbh ab nv n.v se spa s.p.a asa oyj"
    " co company bv b.v pty kk kgaa a/s 股份有限公司 有限责任公司 有限公司 股份公司 公司"
)
_GROUP_WORDS: Final = "group groups holding holdings com 集团 控股"
_SHORT: Final = 3
_SURE: Final = 10
_TICKER_DIGITS: Final = 5


@value
class _Word:
    written: str
    folded: str


@value
class _Name:
    """A name of a company. ``rank`` is 0 for the name itself and 1 for the name without Group or Holdings."""

    company: CompanyId
    rank: int
    words: tuple[str, ...]
    in_lower_case: bool


@value
class _Match:
    """A run of words in a question that is a name. It is ``doubtful`` if it is a single word without a capital."""

    start: int
    end: int
    key: str
    companies: frozenset[CompanyId]
    doubtful: bool


@value
class CompanyIndex:
    """Names of companies by folded spelling. ``longest`` is the length of the longest spelling, in characters."""

    names: Mapping[str, Sequence[_Name]]
    longest: int

    @classmethod
    def of(cls, companies: Iterable[tuple[str, Sequence[str]]], *, text: str) -> "CompanyIndex":
        """Index the names that can occur in a text, in one pass over pairs of company and aliases."""
        letters = "".join(_folded(text))
        names: dict[str, list[_Name]] = defaultdict(list)
        for company, aliases in companies:
            for written in (company, *aliases):
                if not _may_stand_in(letters, written):
                    continue
                for words, rank in _spellings(written):
                    name = _Name(company_id(company), rank, words, written[:1].islower())
                    names["".join(words)].append(name)
        return cls(names, max(map(len, names), default=0))

    def named(self, name: str) -> frozenset[CompanyId]:
        """Return the companies that have a given name. Legal forms are ignored.

        A match of the full name goes before a match without Group or Holdings, on both sides.
        """
        stem = _without(_folded(name), _LEGAL)
        for words in (stem, _bare(stem)):
            if names := self.names.get("".join(words), ()):
                return _nearest(names)
        return frozenset()

    def found_in(self, question: str) -> frozenset[CompanyId]:
        """Return the companies that a question names.

        Latin names match whole words (a Chinese neighbour is a boundary), Chinese names match anywhere. If names
        overlap, the longest wins. Case, accents, inner blanks and punctuation, legal forms and a possessive 's are
        ignored, with three exceptions. A name of up to three letters must be in capitals. Words that make a short
        name only when joined must begin with capitals. A single word without a capital ("target") counts only if
        the question names no company with more certainty, or if the company itself writes its name so.
        """
        chosen: list[_Match] = []
        taken: set[int] = set()
        for match in sorted(self._matches(question), key=lambda match: (-len(match.key), match.start)):
            span = range(match.start, match.end)
            if taken.isdisjoint(span):
                taken.update(span)
                chosen.append(match)
        sure = [match.companies for match in chosen if not match.doubtful]
        return frozenset().union(*(sure or [match.companies for match in chosen]))

    def _matches(self, question: str) -> Iterator[_Match]:
        words = _words(question)
        for start in range(len(words)):
            key = ""
            for end in range(start + 1, len(words) + 1):
                key += words[end - 1].folded
                if len(key) > self.longest:
                    break
                names = self.names.get(key, ())
                if names and _is_meant(key, words[start:end], names):
                    doubtful = end == start + 1 and _is_doubtful(words[start], names)
                    yield _Match(start, end, key, _nearest(names), doubtful)


def company_id(name: str) -> CompanyId:
    """Fold a name into an id that its spellings share: "Aurora Foods, Inc." and "AURORA FOODS" are one company."""
    return CompanyId("".join(_without(_folded(name), _LEGAL)) or name.casefold())


def stem_of(name: str) -> tuple[str, ...]:
    """Return the folded words of a name, without legal forms: aurora, foods."""
    return _without(_folded(name), _LEGAL)


def names_of(about: Set[CompanyId], names: Iterable[str]) -> dict[str, CompanyId]:
    """Return the names that are spellings of one of the companies, with the company of each."""
    letters = "".join(about)
    ids = {name: company_id(name) for name in dict.fromkeys(names) if _may_stand_in(letters, name)}
    return {name: identity for name, identity in ids.items() if identity in about}


def _may_stand_in(letters: str, name: str) -> bool:
    """Return whether a name may occur in folded letters. Can be wrong only by saying yes; cheaper than folding it."""
    word = _FIRST_WORD.match(name)
    if word is None or (word[1] and not name.isascii()):
        return True
    first = word[0].lower()
    return first in letters or first == "the"


def _is_meant(key: str, span: Sequence[_Word], names: Sequence[_Name]) -> bool:
    """Return whether words of a question that spell a name mean that name."""
    if len(key) == 1 or (key.isdecimal() and len(key) < _TICKER_DIGITS):
        return False
    if key.isascii() and len(key) <= _SHORT:
        return all(word.written == word.written.upper() for word in span)
    if len(span) == 1 or len(key) >= _SURE or not key.isascii():
        return True
    folded = tuple(word.folded for word in span)
    return any(name.words == folded for name in names) or all(not word.written[0].islower() for word in span)


def _is_doubtful(word: _Word, names: Sequence[_Name]) -> bool:
    return word.written.islower() and not any(name.in_lower_case for name in names)


def _nearest(names: Sequence[_Name]) -> frozenset[CompanyId]:
    rank = min(name.rank for name in names)
    return frozenset(name.company for name in names if name.rank == rank)


def _words(text: str) -> list[_Word]:
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    return [_Word(word, word.casefold()) for word in _WORD.findall(text)]


def _folded(text: str) -> tuple[str, ...]:
    return tuple(word.folded for word in _words(text))


def _spellings(name: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the spellings that a name is found by, with the rank: in full, without legal form, without Group."""
    for written in (name, name.replace("&", " and ")) if "&" in name else (name,):
        words = _folded(written)
        stem = _without(words, _LEGAL)
        bare = _bare(stem)
        yield stem, 0
        if words != stem:
            yield words, 0
        if bare != stem:
            yield bare, 1


def _bare(stem: tuple[str, ...]) -> tuple[str, ...]:
    bare = _without(stem, _LEGAL | _GROUP)
    return bare[1:] if bare[:1] == ("the",) and len(bare) > 1 else bare


def _without(words: tuple[str, ...], endings: frozenset[tuple[str, ...]]) -> tuple[str, ...]:
    """Drop endings from a name repeatedly, the longest first, but keep at least one word."""
    left = len(words)
    while length := _ending(words, left, endings):
        left -= length
    return words[:left]


def _ending(words: tuple[str, ...], left: int, endings: frozenset[tuple[str, ...]]) -> int:
    """Return how many words the ending of the first words has, 0 if they have none or nothing else would be left."""
    lengths = range(min(_MAX_FORM_WORDS, left - 1), 0, -1)
    return next((length for length in lengths if words[left - length : left] in endings), 0)


def _endings(written: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_folded, written.split(" ")))


_LEGAL: Final = _endings(_LEGAL_FORMS)
_GROUP: Final = _endings(_GROUP_WORDS)
_MAX_FORM_WORDS: Final = max(map(len, _LEGAL | _GROUP))
