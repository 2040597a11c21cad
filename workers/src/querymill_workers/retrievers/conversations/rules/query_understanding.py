"""Understand a question: drop its filler, and find its intent, its keywords, and how deep to search."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import rjieba

from querymill_shared.values import value
from querymill_workers.retrievers.conversations.rules.question_frames import TimeOrder, asked_order, unframed
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

_CODE: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_HAS_CODE: Final = re.compile(r"```|`[^`]+`|\(\)|\[\]|\{\}")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_LATIN: Final = re.compile("[A-Za-z0-9_]+(?:[.'’-][A-Za-z0-9_]+)*")
_LATIN_LEFT: Final = "(?<![A-Za-z0-9_.`'’-])"
_LATIN_RIGHT: Final = "(?![A-Za-z0-9_.`(-]*[A-Za-z0-9_(])"
_FILLER_EN: Final = (
    "can you (?:please )?(?:tell|show|remind) me|could you (?:please )?(?:tell|show|remind) me|do you (?:know|remember)"
    "|i (?:want|would like|need) to know|i'd like to know|i was wondering(?: if)?|i wonder(?: if)?|does anyone know"
    "|help me(?: to)?|tell me(?: about)?|show me|remind me(?: of| about)?|please|pls|plz|thanks|thank you|hi|hello|hey"
    "|kind of|sort of|basically|actually|just|really|you know|by the way|btw|um+|uh+"
)
_FILLER_ZH: Final = (
    "请问一下|请问|麻烦你|帮我(?:找|查|看)?(?:一下|看)?|我?想知道|我?想问一下|我想问|想请教一下|能不能告诉我|可以告诉我|告诉我"
    "|你(?:还)?(?:知道|记得)|还记得|记不记得|谢谢|你好|您好|有没有人知道|其实|就是说|(?<![上下])一下(?!一)|的话"
    # Particles end a clause. Elsewhere these characters are parts of words (网吧).
    "|(?:呢|吗|啊|呀|吧|嘛|哦|嗯)+(?=[\\s，。？！,.?!]|$)"
)
_FILLER: Final = re.compile(f"{_LATIN_LEFT}(?:{_FILLER_EN}){_LATIN_RIGHT}|{_FILLER_ZH}", re.IGNORECASE)

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

#: What may be left of a question that asks for nothing but the talks of a time.
_RECAP: Final = re.compile(
    "(?<![A-Za-z0-9_])(?:what|which|when|did|do|does|done|doing|have|has|had|been|was|were|am|are|is|we|i|me|my|our|us|the"
    "|a|an|all|any|of|on|in|at|to|up|for|from|about|with|and|everything|anything|thing|things|stuff|work|works|worked"
    "|working|happen|happens|happened|happening|going|go|talk|talked|talking|discuss|discussed|discussing|chat|chats"
    "|chatted|session|sessions|conversation|conversations|topic|topics|recap|summari[sz]e|summary|overview|list|review"
    "|give|show|tell|get|got|make|made|spend|spent|time|busy|focus|focused|accomplish|accomplished|finish|finished|recent"
    "|that|this|it|my|ve|s|d|re|exactly|again|please|project|projects|task|tasks|history)(?![A-Za-z0-9_])"
    "|我们?|咱们?|大家|都|在|的|了|过|做|干|忙|聊|谈|讨论|进行|完成|处理|工作|哪些|什么|啥|事情|事|东西|内容|会话|对话|话题|总结"
    "|回顾|汇总|概括|列出|一下|下|有|和|是|主要|情况|进展|些|来着",
    re.IGNORECASE,
)

# Words of Chinese questions that say nothing about their subject. The tokeniser removes the English ones itself.
_FUNCTION_HAN: Final = frozenset(listed("function_words", "question", "conversations"))


@value
class Subject:
    """What a question is about: its text without its time and its filler, and the words that were dropped.

    ``embedded`` keeps the filler, and is empty if the question has no word. ``is_recap`` tells that the question is
    nothing but a time, and ``order`` in which order of time it wants the sessions.
    """

    text: str
    dropped: tuple[str, ...]
    embedded: str
    is_recap: bool
    order: TimeOrder | None


def subject_of(query: str, rest: str | None, *, simplifies: bool) -> Subject:
    """Find what a question is about. ``rest`` is what is left of it without its time, or None if it mentions none."""
    # A question that is nothing but a time keeps its words, so that there is something to search for.
    text = rest if rest is not None and words(rest) else query
    simple = simplify(text) if simplifies else Simplified(text, ())
    # The frame would be near to talks about talks.
    embedded = unframed(text)[0] if simplifies else text
    is_recap = rest is not None and asks_for_recap(rest)
    return Subject(simple.text, simple.dropped, embedded if words(query) else "", is_recap, asked_order(simple.dropped))


@value
class Simplified:
    """A question without its filler, and the dropped words."""

    text: str
    dropped: tuple[str, ...]


def simplify(text: str) -> Simplified:
    """Drop English and Chinese filler words, and the frame that only says that a conversation is looked for.

    Code in backquotes stays, and so does a text of nothing but filler.
    """
    dropped: list[str] = []
    code = [(match.start(), match.end()) for match in _CODE.finditer(text)]

    def drop(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in code):
            return match[0]
        dropped.append(match[0])
        return " "

    left = _FILLER.sub(drop, text).strip()
    if not _LATIN.search(left) and not _HAN.search(left):
        return Simplified(text, ())
    left, frame = unframed(left)
    return Simplified(left, (*dropped, *frame))


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


def asks_for_recap(rest: str) -> bool:
    """Return whether a question asks for the talks of a time and nothing else, from what is left without its time.

    "what did we do on Friday" and 昨天做了什么 do; "what did we do about caching on Friday" does not.
    """
    left = _RECAP.sub(" ", simplify(rest).text)
    return not _LATIN.search(left) and not _HAN.search(left)


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
        if word not in _FUNCTION_HAN and word.casefold() not in from_terms and (_HAN.match(word) or words(word))
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
    for run in re.finditer(f"({_HAN.pattern})|{_LATIN.pattern}", text):
        if run[1]:
            yield from rjieba.cut(run[1])
        else:
            yield run[0]
