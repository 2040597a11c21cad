"""What a question asks for: its intent, its keywords, and how deep to search."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import rjieba

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.subject import HAN, LATIN
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.text.languages import is_han
from querymill_workers.text.lexicon import listed
from querymill_workers.text.words import words

Intent = Literal["debug", "how_to", "explain", "code_lookup", "decision", "recap"]
Mode = Literal["normal", "deep"]

#: Questions of higher importance are searched in depth.
DEEP_ABOVE: Final = 0.6
#: A question with more words than this is long.
LONG_QUESTION: Final = 5

_HAS_CODE: Final = re.compile(r"```|`[^`]+`|\(\)|\[\]|\{\}")
_QUESTION: Final = re.compile(
    "(?<![A-Za-z0-9_])(?:how|why)(?![A-Za-z0-9_])|如何|怎么|怎样|咋|为什么|为何|为啥|什么原因", re.IGNORECASE
)


def _cues(latin: str, han: str) -> re.Pattern[str]:
    return re.compile(f"(?<![A-Za-z0-9_])(?:{latin})(?![A-Za-z0-9_])|{han}", re.IGNORECASE)


# The first intent whose cues occur is chosen. A question without any cue asks for a recap.
_INTENTS: Final[Sequence[tuple[Intent, re.Pattern[str]]]] = (
    (
        "debug",
        _cues(
            "errors?|exceptions?|bugs?|crash(?:es|ed|ing)?|fail(?:s|ed|ing|ure|ures)?|broken|not working|doesn't work"
            "|debug(?:ging)?|traceback|stack trace|segfault|panic|deadlocks?|leak(?:s|ed|ing)?|stuck|hangs?|wrong",
            "错误|报错|异常|崩溃|失败|调试|死锁|泄漏|卡住|卡死|超时|不工作|不生效|不起作用|出问题|有问题|排查|故障",
        ),
    ),
    (
        "decision",
        _cues(
            "decid(?:e|ed|es|ing)|decisions?|chose|choose|chosen|agreed?|versus|vs|trade-?offs?|pros and cons"
            "|which (?:one|option|library|database|approach)|should (?:we|i)|instead of|prefer(?:red)?",
            "决定|决策|选择|选型|选了|为什么选|还是用|对比|比较|取舍|优缺点|方案选|定下来|敲定|应该用|该不该",
        ),
    ),
    (
        "code_lookup",
        _cues(
            "code|snippets?|functions?|class(?:es)?|methods?|scripts?|implementation of|where is|defined|definition"
            "|example|source|sql|query|regex|command",
            "代码|片段|函数|方法|脚本|在哪|哪里定义|实现在|示例|例子|源码|命令|那段",
        ),
    ),
    (
        "how_to",
        _cues("how|steps|set ?up|install|configure|way to|tutorial|guide", "如何|怎么|怎样|咋|步骤|教程|安装|配置"),
    ),
    (
        "explain",
        _cues(
            "why|what (?:is|are|does|do)|explain|meaning|means?|difference between|understand|concept|reason",
            "为什么|为何|为啥|什么是|是什么|啥是|解释|原理|含义|意思|区别|概念|理解|原因",
        ),
    ),
)

# Words of Chinese questions that say nothing about their subject. The tokeniser removes the English ones itself.
_FUNCTION_HAN: Final = frozenset(listed("function_words", "question", "conversations"))


@value
class Traits:
    """What a question asks for, how important it is (from 0 to 1), how deep to search for it, and its keywords.

    ``chinese`` are its Chinese words with a meaning.
    """

    intent: Intent
    importance: float
    mode: Mode
    keywords: tuple[str, ...]
    chinese: frozenset[str]


def traits_of(query: str, searched: str, vocabulary: TechnicalKeywords) -> Traits:
    """Judge a question as it was asked, and list the keywords of the text that is searched."""
    worth = importance(query, technical=len(vocabulary.of(query)))
    terms = technical_terms(searched, vocabulary)
    chinese = frozenset(word for word in words(searchable([searched])) if is_han(word))
    return Traits(intent_of(query), worth, mode_of(worth), tuple(keywords(searched, terms)), chinese)


def technical_terms(text: str, vocabulary: TechnicalKeywords) -> list[str]:
    """List the technical keywords of a text in the order of their first occurrence."""
    lower = text.lower()
    return sorted(vocabulary.of(text), key=lambda term: (lower.find(term), -len(term)))


def intent_of(text: str) -> Intent:
    """Return the first intent whose cues occur in a question, or `recap` if none do."""
    return next((intent for intent, cues in _INTENTS if cues.search(text)), "recap")


def word_count(text: str) -> int:
    """Count words: Latin ones as they are written, Chinese ones as they are segmented."""
    return sum(1 for _ in _words(text))


def keywords(text: str, terms: Sequence[str]) -> list[str]:
    """List the keywords of a question, each once: its technical terms, then its other words with a meaning.

    Args:
        text: The question, without filler.
        terms: The technical terms that occur in it.
    """
    from_terms = {word.casefold() for term in terms for word in (term, *_words(term))}
    others = [
        word
        for word in _words(text)
        if word not in _FUNCTION_HAN and word.casefold() not in from_terms and (HAN.match(word) or words(word))
    ]
    return list(dict.fromkeys([*terms, *others]))


def importance(text: str, *, technical: int) -> float:
    """Score the importance of a question, from 0 to 1, in tenths.

    +0.3 for more than 5 words, +0.1 for each technical keyword up to 0.3, +0.2 for how and why, +0.2 for code (a
    fence, ``()``, ``[]``, ``{}``). Worked example: "如何优化数据库连接池的性能" has 6 words, asks how, and has 4
    keywords: 0.3 + 0.3 + 0.2 = 0.8, a deep search.

    Args:
        text: The question as it was asked.
        technical: Number of distinct technical keywords in it.
    """
    # Whole tenths, because 0.3 + 0.1 + 0.1 + 0.1 is more than 0.6 in binary fractions and would count as deep.
    tenths = 3 * (word_count(text) > LONG_QUESTION) + min(technical, 3)
    tenths += 2 * bool(_QUESTION.search(text)) + 2 * bool(_HAS_CODE.search(text))
    return min(tenths, 10) / 10


def mode_of(worth: float) -> Mode:
    """Return the search mode for an importance."""
    return "deep" if worth > DEEP_ABOVE else "normal"


def _words(text: str) -> Iterator[str]:
    for run in re.finditer(f"({HAN.pattern})|{LATIN.pattern}", text):
        if run[1]:
            yield from rjieba.cut(run[1])
        else:
            yield run[0]
