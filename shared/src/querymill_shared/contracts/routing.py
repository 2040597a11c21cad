"""Which branches of a search are asked first: a question that says what it is about says where to look.

Three things are read off the question: that it names code, that it asks for figures of a company, that it asks what
was said. Each is held in documents of two kinds, or one. Only where all that a question says is held are its branches
asked first; the others are asked if these say little of the question.
"""

import re
from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value

_BEFORE: Final = "(?<![A-Za-z0-9_])"
_AFTER: Final = "(?![A-Za-z0-9_])"
_ENDINGS: Final = (
    "c|cc|cfg|cpp|cs|css|go|h|hpp|html|ini|java|js|json|jsx|kt|lua|php|py|rb|rs|scala|sh|sql|swift|toml|ts|tsx|vue"
    "|yaml|yml"
)
# Products have capitals within their names, too, such as PepsiCo, macOS and x86_64.
_NAMES_OF_CODE: Final = "|".join((
    f"{_BEFORE}[A-Za-z0-9_./-]+[.](?:{_ENDINGS}){_AFTER}",
    f"{_BEFORE}[a-z]{{2,}}[A-Z0-9]*[A-Z][a-z][A-Za-z0-9]*{_AFTER}",
    f"{_BEFORE}(?=[A-Za-z0-9]{{12}})[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*{_AFTER}",
    f"{_BEFORE}_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z][A-Za-z0-9]*)+{_AFTER}",
    f"{_BEFORE}[A-Za-z_][A-Za-z0-9_.]*[(][)]",
))  # fmt: skip
_TERMS_OF_REPORTS: Final = "|".join((
    f"{_BEFORE}(?:FY ?|Q[1-4] ?(?:FY ?)?)(?:(?:19|20)[0-9]{{2}}|[0-9]{{2}}){_AFTER}",
    f"{_BEFORE}(?i:fiscal|revenues?|ebitda|net (?:income|sales|loss|receivables?)|income tax(?:es)?"
    "|(?:operating|interest|comprehensive|deferred) (?:income|expenses?|margins?|profit|revenues?)"
    "|gross (?:margins?|profit)|cost of (?:sales|revenues?|goods)|balance sheets?|cash flows?|goodwill|impairments?"
    "|depreciation|amorti[sz]ation|earnings per share|dividends?|shareholders?|stockholders?|liabilit(?:y|ies)"
    "|(?:accounts|trade|notes) (?:receivable|payable)s?|inventor(?:y|ies)|restructuring|annual report"
    f"|year ended){_AFTER}",
    "营收|营业收入|净利润|毛利率?|财年|财报|年报|资产负债|现金流|商誉|股东",
))  # fmt: skip
_SPEECH: Final = (
    "(?:say|said|tell|told|talk(?:ed)?|speak|spoke|spoken|mention(?:ed)?|discuss(?:ed)?|chat(?:ted)?|promised?"
    "|ask(?:ed)?|agreed?)"
)
_WORDS_OF_CHATS: Final = "|".join((
    f"{_BEFORE}(?i:did|have|had|has) (?:(?i:i|we|you|he|she|they)|[A-Z][a-z]+)(?: (?i:ever|already|just))?"
    f" (?i:{_SPEECH}){_AFTER}",
    f"{_BEFORE}(?i:i|we|you) (?i:said|told|talked|spoke|mentioned|discussed|chatted|agreed){_AFTER}",
    f"{_BEFORE}(?i:who (?:said|told|mentioned)|(?:our|last|this|that) (?:chat|conversation|discussion)){_AFTER}",
    "(?:我们?|你|他|她)(?:之前|上次|昨天)?(?:说|聊|讨论|提到|提)过?|谁(?:说|提)|聊天记录",
))  # fmt: skip


@value
class Sign:
    """What a question may be about, how one sees it, and the kinds of documents that hold it."""

    about: str
    pattern: re.Pattern[str]
    kinds: tuple[str, ...]


SIGNS: Final = (
    Sign("names code", re.compile(_NAMES_OF_CODE), ("modules", "files")),
    Sign("asks for figures of a company", re.compile(_TERMS_OF_REPORTS), ("reports",)),
    Sign("asks what was said", re.compile(_WORDS_OF_CHATS), ("messages", "conversations")),
)


@value
class Lead:
    """What a question is about, the words that say so, and the kinds of documents that hold it."""

    about: str
    words: str
    kinds: tuple[str, ...]


def leads_of(question: str) -> tuple[Lead, ...]:
    """Return what a question says of where its answer is.

    >>> [(lead.about, lead.words) for lead in leads_of("Why does max_retries not hold in worker.py?")]
    [('names code', 'max_retries')]
    >>> [(lead.about, lead.words) for lead in leads_of("What was the goodwill in 2019?")]
    [('asks for figures of a company', 'goodwill')]
    >>> [(lead.about, lead.words) for lead in leads_of("What did we say about the harbour dues?")]
    [('asks what was said', 'did we say')]
    >>> leads_of("How are unacked messages restored?")
    ()
    """
    found = ((sign, sign.pattern.search(question)) for sign in SIGNS)
    return tuple(Lead(sign.about, match.group(), sign.kinds) for sign, match in found if match is not None)


def asked_first(question: str, branches: Sequence[str]) -> tuple[str, ...]:
    """Return the branches that a question points to, named ``kind/collection``, or nothing if all are to be asked.

    All are, too, where a thing that the question says is held by none of them: then it may stand anywhere.

    >>> asked_first("Why does max_retries not hold?", ["reports/filings", "files/code", "messages/chats"])
    ('files/code',)
    >>> asked_first("Why does max_retries not hold?", ["reports/filings", "messages/chats"])
    ()
    >>> asked_first("Which revenue does report.py print?", ["reports/filings", "messages/chats"])
    ()
    """
    leads = leads_of(question)
    pointed = [[branch for branch in branches if branch.partition("/")[0] in lead.kinds] for lead in leads]
    if not all(pointed):
        return ()
    likely = {branch for group in pointed for branch in group}
    return tuple(branch for branch in branches if branch in likely) if likely < {*branches} else ()
