"""Times that are the subject of a question, not the time that is asked about: "sort by last month column"."""

import re
from functools import lru_cache
from typing import Final

#: Nouns of talks, whose time is meant: "yesterday's session".
_TALKS: Final = (
    "sessions?|conversations?|chats?|discussions?|talks?|threads?|messages?|meetings?|calls?|questions?|answers?|work|notes?"
    "|decisions?|standups?|reviews?|debugging|pairing|fix(?:es)?|changes?|bugs?|issues?|incidents?|outages?|migrations?"
    "|releases?|refactor(?:ing|ings)?|upgrades?|deploy(?:ment|ments|s)?|plans?|designs?|problems?|ideas?|tasks?|sprints?"
    "|commits?|prs?|pull requests?|features?|rollouts?|investigations?|experiments?|demos?"
)
_ITS_OWN: Final = re.compile("['’]s$")
_A_TALK: Final = re.compile(f" *(?:[A-Za-z]+ ){{0,2}}?(?:{_TALKS})(?![A-Za-z])", re.IGNORECASE)
#: Nouns of programs, which have such times as names and values.
_THINGS: Final = re.compile(
    " *(?:columns?|fields?|filters?|buttons?|charts?|tabs?|options?|labels?|rows?|cells?|values?|dropdowns?|headings?"
    "|buckets?|timestamps?|strings?|formats?|ranges?)(?![A-Za-z])",
    re.IGNORECASE,
)
_THINGS_ZH: Final = re.compile("(?:缓存|数据|字段|列|按钮|值|报表|图表|日期|时间戳|格式|快照|订单)")
_SORTED: Final = re.compile(
    r"(?<![A-Za-z])(?:sort(?:ed|ing)?|group(?:ed|ing)?|order(?:ed|ing)?|filter(?:ed|ing)?)(?: by(?: the)?)? $",
    re.IGNORECASE,
)
_SORTED_ZH: Final = re.compile("(?:按照?|根据)$")
_READ: Final = re.compile(
    r"(?:strptime|strftime|pars(?:e|es|ed|ing)|date string|time ?stamp|解析|格式化)[^.?!。？！]{0,40}$", re.IGNORECASE
)
_LITERAL: Final = re.compile(r"(?:in |on |at |for )*[0-9]{4}[-/年][0-9]")
_RELEASED: Final = re.compile(
    "(?<![A-Za-z])(?<!we )(?<!i )(?:released|introduced|published|deprecated|announced|launched|founded|born|dated"
    "|removed) $",
    re.IGNORECASE,
)
_RELEASED_ZH: Final = re.compile("(?:发布|推出|弃用|成立|出版|问世)(?:的|于)?")
_OURS_ZH: Final = re.compile("[我咱]")
#: Who tells what happened to a computer: "i installed it yesterday, now ...".
_TELLS: Final = re.compile(
    r"(?<![A-Za-z])(?:i|i['’]?m|i['’]ve|someone|somebody|anyone|anybody)(?![A-Za-z'’])", re.IGNORECASE
)
#: What makes it a question about earlier talk or work all the same.
_ASKS_BACK: Final = re.compile(
    "(?<![A-Za-z])(?:we|us|our|ours|(?:did|have|has|had|was|were|am|are|do) i"
    "|(?:did|has|had|was) (?:someone|somebody|anyone)"
    "|(?:i|someone|somebody) (?:did|wrote|made|built|fixed|decided|asked|discussed|talked|mentioned|said|told|worked"
    "|added|changed|implemented|was working|was doing|have been|had)"
    f"|remember|recall|find|show|recap|summari[sz]e|summary|{_TALKS})(?![A-Za-z])",
    re.IGNORECASE,
)
_QUOTES: Final = frozenset({('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("《", "》")})


@lru_cache(maxsize=64)
def _tells_of_a_computer(text: str) -> bool:
    """Return whether a text tells what happened. A question is looked at once, however many times it names."""
    return bool(_TELLS.search(text) and not _ASKS_BACK.search(text))


@lru_cache(maxsize=64)
def _is_ours(text: str) -> bool:
    return bool(_OURS_ZH.search(text))


def is_subject(text: str, first: int, past: int) -> bool:
    """Return whether a time expression names a thing of the question instead of saying when it was talked about.

    *Decided*: it does in quotes, after "sorted by" or "released", as a literal that is parsed, before the name of a
    thing on a screen, and as the owner of anything but a talk: "yesterday's cached value", but "yesterday's session".
    It does too where somebody tells what happened then: "I upgraded yesterday and lost my desktop".

    Args:
        text: The question.
        first: Where the expression begins, with the words that belong to it.
        past: Where it ends.
    """
    phrase = text[first:past].strip()
    before = text[max(first - 80, 0) : first + len(text[first:past]) - len(text[first:past].lstrip())]
    if _ITS_OWN.search(phrase) and not _A_TALK.match(text, past):
        return True
    if _THINGS.match(text, past) or (phrase.endswith("的") and _THINGS_ZH.match(text, past)):
        return True
    if (before[-1:], text[past : past + 1]) in _QUOTES:
        return True
    if _SORTED.search(before) or _SORTED_ZH.search(before) or _RELEASED.search(before):
        return True
    if _tells_of_a_computer(text):
        return True
    if _RELEASED_ZH.match(text, past) and not _is_ours(text):
        return True
    return bool(_LITERAL.match(phrase) and _READ.search(before))
