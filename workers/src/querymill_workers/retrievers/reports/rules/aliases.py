"""Other names of companies: tickers that a report's cover gives, and short forms that only one company can have."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from querymill_workers.retrievers.reports.rules.companies import CompanyId, company_id, stem_of

#: Pages on which a cover gives the ticker, and how many tickers are proposed.
COVER_PAGES: Final = 3
MAX_TICKERS: Final = 3
_EXCHANGES: Final = (
    "NYSE American|NYSE Arca|NYSE|NASDAQ|Nasdaq|LSE|HKEX|SEHK|TSX|ASX|SSE|SZSE|Euronext|Xetra|New York Stock Exchange"
)
_IN_BRACKETS: Final = re.compile(
    rf"\(\s*(?:{_EXCHANGES})(?:\s+Global Select Market)?\s*[:\uff1a]\s*([A-Z0-9.]{{1,6}})\s*\)"
)
_IN_TABLE: Final = re.compile(
    r"\b[Cc]ommon (?:[Ss]tock|[Ss]hares)\b[^\n]{0,90}?\s([A-Z]{1,5})\s+"
    r"(?:The\s+)?(?:New York Stock|N(?:ASDAQ|asdaq|YSE))"
)
_CHINESE: Final = re.compile(r"(?:股票代码|证券代码|股份代号)\s*[:\uff1a]?\s*([0-9]{4,6})")
_CAPITALISED: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z][A-Za-z0-9]*(?![A-Za-z0-9])")
#: Letters of a short form.
_SHORTEST, _LONGEST = 3, 20


def tickers_of(pages: Sequence[str]) -> tuple[str, ...]:
    """Return the tickers that the first pages of a report give, as "(NYSE: ARFD)", in the table of a 10-K, or 证券代码.

    For example, "Common Shares, $0.20 par value   ARFD   New York Stock Exchange" gives ARFD. Other securities in that
    table (notes, preferred shares) have no line that begins so.
    """
    cover = "\n".join(pages[:COVER_PAGES])
    found = [
        match[1].rstrip(".") for pattern in (_IN_BRACKETS, _IN_TABLE, _CHINESE) for match in pattern.finditer(cover)
    ]
    return tuple(dict.fromkeys(ticker for ticker in found if ticker))[:MAX_TICKERS]


def meant_by_short_forms(
    question: str, companies: Iterable[str], *, named: Set[CompanyId] = frozenset()
) -> set[CompanyId]:
    """Return the companies that a question names by a short form which fits no other company.

    A short form has a capital and at least three letters. It is the first word of the name ("MGM" for MGM Resorts), or
    it is in capitals and spelled by the beginnings of all its words ("AMEX" for American Express, "IBM").

    Args:
        question: Chinese, English or both.
        companies: The companies of the collection.
        named: Those that the question names in full. Words of their names stand for no other company.
    """
    written = [match for match in _CAPITALISED.finditer(question) if _SHORTEST <= len(match[0]) <= _LONGEST]
    # Folding every name of a large collection would take longer than its search.
    initials = {match[0][0].lower() for match in written}
    near = [company for company in companies if company[:1].lower() in initials]
    words_of = {company_id(company): stem_of(company) for company in near}
    taken = {word for identity in named for word in words_of.get(identity, ())}
    stems = {identity: words for identity, words in words_of.items() if len(words) > 1}
    found: set[CompanyId] = set()
    for match in written:
        word = match[0].lower()
        if word not in taken:
            found |= _only(word, stems, starts=match.start() > 0 or match[0].isupper(), is_spelled=match[0].isupper())
    return found - named


def _only(word: str, stems: Mapping[CompanyId, Sequence[str]], *, starts: bool, is_spelled: bool) -> set[CompanyId]:
    """Return the company that a short form fits, if it is one."""
    fits = {identity for identity, words in stems.items() if starts and words[0] == word}
    if not fits and is_spelled:
        fits = {identity for identity, words in stems.items() if spells(word, words)}
    return fits if len(fits) == 1 else set()


def spells(short: str, words: Sequence[str]) -> bool:
    """Return whether a short form is made of beginnings of all the words, in order: "amex" of american, express."""
    if not len(words) <= len(short) <= _LONGEST:
        return False
    ends = {0}  # how many letters the words so far may have given
    for word in words:
        lengths = range(1, len(short) + 1)
        ends = {end + length for end in ends for length in lengths if short[end : end + length] == word[:length]}
    return len(short) in ends
