"""Names of companies in a question that no report of the collection has."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from querymill_workers.text.lexicon import listed

_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[&.'-][A-Za-z0-9]+)*")
_JOIN: Final = re.compile(r"[ ](?:&[ ])?")
_POSSESSIVE: Final = re.compile("['\u2019]s?$")
#: Words in front of a company: "the revenue of Zenith", "did Zenith", "Aurora and Zenith".
_BEFORE: Final = frozenset(listed("function_words", "before", "reports"))
_NO_NAMES: Final = frozenset(listed("function_words", "name", "reports"))
_CHINESE: Final = re.compile(
    "(?:^|[\\s,。，、：:；;和与及比跟同])(?:请问|请|关于|比较|对比)*([\u4e00-\u9fff]{2,8}?(?:公司|集团|股份|银行|能源|科技|汽车|证券|保险|食品|电子|医药|控股))"
)
_CHINESE_STARTS: Final = re.compile(
    "^(?:该|本|这家|那家|哪家|哪个|什么|各|所有|全部|上市|其他|多少|一家|两家|母|子|分)"
)


def unknown_names(question: str, known: Iterable[str]) -> list[str]:
    """Return names in a question that look like companies and share no word with the ``known`` texts.

    Decided, to raise a warning and never to drop a hit: words with a capital, behind a word such as "of" or "did", or
    in front of 's, of which none is a word of accounts, places or dates. A word in capitals only (EBITDA) is no name.
    In Chinese: up to eight characters that end like a company (公司, 集团, 能源 …). For example, "revenue of Zenith
    Motors in 2022" gives Zenith Motors, unless a company, an alias or a title has one of these words.

    Args:
        question: Chinese, English or both.
        known: The companies, aliases and titles of the collection. They are read only if the question has such a name.
    """
    names = [*_latin(question), *(found[1] for found in _CHINESE.finditer(question))]
    names = [name for name in names if not _CHINESE_STARTS.match(name)]
    if not names:
        return []
    texts = [text.casefold() for text in known]
    words = {word for text in texts for word in _TOKEN.findall(text)}
    joined = " ".join(texts)
    return [name for name in dict.fromkeys(names) if not _is_known(name.casefold(), words, joined)]


def _latin(question: str) -> Iterator[str]:
    tokens = list(_TOKEN.finditer(question))
    position = 0
    while position < len(tokens):
        end = position
        while end < len(tokens) and tokens[end][0][0].isupper() and _goes_on(question, tokens, position, end):
            end += 1
        start = position
        while start < end and _plain(tokens[start]) in _NO_NAMES:  # Does Zenith Motors …
            start += 1
        if start < end and _is_name(question, tokens, start, end):
            yield _POSSESSIVE.sub("", " ".join(token[0] for token in tokens[start:end]))
        position = max(end, position + 1)


def _goes_on(question: str, tokens: Sequence[re.Match[str]], start: int, end: int) -> bool:
    if end > start and _POSSESSIVE.search(tokens[end - 1][0]):
        return False
    return end == start or _JOIN.fullmatch(question[tokens[end - 1].end() : tokens[end].start()]) is not None


def _is_name(question: str, tokens: Sequence[re.Match[str]], start: int, end: int) -> bool:
    words = [_POSSESSIVE.sub("", token[0]) for token in tokens[start:end]]
    if any(word.lower() in _NO_NAMES or any(map(str.isdigit, word)) for word in words):
        return False
    if all(word.isupper() for word in words):
        return False
    last = tokens[end - 1]
    owns = _POSSESSIVE.search(last[0]) is not None or question[last.end() :][:2] in {"'s", "\u2019s"}
    return owns or (start > 0 and tokens[start - 1][0].lower() in _BEFORE)


def _plain(token: re.Match[str]) -> str:
    return _POSSESSIVE.sub("", token[0]).lower()


def _is_known(name: str, words: set[str], joined: str) -> bool:
    own = _TOKEN.findall(name)
    return name in joined or any(word in words for word in own) or (not own and name[:2] in joined)
