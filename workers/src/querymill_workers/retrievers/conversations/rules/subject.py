"""What a question is about: its words without its time, its filler, and the frame of a question about conversations.

The frame only says that a conversation is looked for. "Which session talked about the retry queue?" is about the retry
queue. *Session* and *talked* would find the sessions that use these words, and they are rare in most histories, so that
BM25 takes them for what matters. A frame may also say which of the sessions is meant: "the most recent session about
…", "the first time we discussed …".
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.text.words import words

#: Which sessions of a subject are wanted first.
TimeOrder = Literal["newest", "oldest"]

#: A longer text, in characters, is no such question. What searches for its end reads blanks again and again, besides:
#: 20,000 of them took 16 s.
MAX_CHARS: Final = 300

_THING: Final = "(?:sessions?|conversations?|chats?|threads?|discussions?|talks?)"
_WHO: Final = "(?:we|i|you|they|he|she|someone|somebody|anyone|anybody)"
_SAID: Final = (
    "(?:talk(?:ed|ing)?|discuss(?:ed|ing)?|mention(?:ed|ing)?|sp(?:eak|oke|oken|eaking)|chat(?:ted|ting)?|say|said|ask(?:ed)?"
    "|debat(?:e|ed|ing)|covers?|covered|explain(?:ed)?|describ(?:e|ed)|suggest(?:ed)?|propos(?:e|ed))"
)
_SETTLED: Final = "(?:decid(?:e|ed)|agree(?:d)?|conclud(?:e|ed)|settle(?:d)?)"
_ABOUT: Final = "(?:about|of|on|upon|over|regarding|concerning)"
_ONCE: Final = "(?:(?:last|first|ever|already|previously|recently|again|actually) )?"
_DID: Final = "(?:did|do|have|had|were|was|are)"
_LOOK: Final = "(?:(?:find|search for|look for|look up|open|list|where is|where's|what is|what was|which is) (?:me )?)?"
_A: Final = "(?:(?:the|that|this|our|my|a|an|any|all|some|every) )?"
_AGE: Final = "(?:(?:very )?(?:most recent|latest|newest|last|first|earliest|oldest) )"

# Each needs a word of speaking or "about", so that "which session expired" and "threads of the worker" stay whole.
_ENGLISH: Final = (
    # which session talked about …, in what conversation did we discuss …
    f"(?:in )?(?:which|what) {_THING}(?: (?:that|where))?(?: (?:{_DID}|has)(?: {_WHO})?)? {_ONCE}{_SAID}(?: {_ABOUT})?",
    f"(?:in )?(?:which|what) {_THING} (?:(?:was|were|is|are) )?about",
    # when did we talk about …, how often have we discussed …, did we ever mention …
    f"(?:(?:when|where|how often|how many times) )?(?:did|have|had) {_WHO} {_ONCE}{_SAID}(?: {_ABOUT})?",
    f"(?:when|where) {_WHO} {_ONCE}{_SAID} {_ABOUT}",
    # what did we say about …, what was decided on …
    f"(?:what|anything) (?:did|have|had) {_WHO} {_ONCE}(?:{_SAID}|{_SETTLED}) {_ABOUT}",
    f"(?:what|anything) (?:was|were|has been|had been) {_ONCE}(?:{_SAID}|{_SETTLED}) {_ABOUT}",
    # the conversation where we discussed …, sessions about …, the last time we talked about …
    f"{_LOOK}{_A}{_AGE}?{_THING} (?:where|in which|when|that) {_WHO} (?:(?:were|was|have|had) )?{_ONCE}{_SAID}"
    f"(?: {_ABOUT})?",
    f"{_LOOK}{_A}{_AGE}?{_THING} (?:(?:that|which) (?:was|were|is|are) )?about",
    f"(?:when was )?(?:the )?{_AGE}time {_WHO} (?:(?:were|was|have|had) )?{_SAID}(?: {_ABOUT})?",
    # the latest conversation on …; without an age, "threads on the worker" are of the subject
    f"{_LOOK}{_A}{_AGE}(?:session|conversation|chat|discussion|talk)s? (?:on|regarding|concerning)",
    f"{_LOOK}{_A}{_AGE}discussions? of",
)
_OURS: Final = "(?:我们|咱们|我)?"
_AGE_ZH: Final = "(?:最近的?一次|最后一次|最新的?(?:一次|一个)?|上一?次|第一次|首次|最早的?(?:一次)?|最初)"
_EARLIER: Final = f"(?:之前|以前|{_AGE_ZH}|曾经|曾|有)?"
_THING_ZH: Final = "(?:会话|对话|聊天记录|聊天|讨论|谈话)"
_SAID_ZH: Final = "(?:讨论|聊|谈论|谈|提|说)(?:到过|起过|过|到|起|了)?"
_CHINESE: Final = (
    # 我们什么时候讨论过…, 在哪次对话里提到…
    f"{_OURS}{_EARLIER}是?在?(?:什么时候|何时|哪(?:一)?(?:天|次|个|场)?{_THING_ZH}?(?:里面|里|中|时)?){_OURS}{_EARLIER}{_SAID_ZH}(?:关于|有关)?",
    f"哪(?:一)?(?:些|次|个|场){_THING_ZH}(?:里|中)?是?(?:关于|有关|涉及|{_SAID_ZH})",
    f"(?:我们|咱们|我){_EARLIER}(?:讨论|聊|谈论|谈|提|说)(?:到过|起过|过|到|起)(?:关于|有关)?的?",
    # 第一次聊到…, 最新的会话，关于…
    f"{_OURS}{_AGE_ZH}{_OURS}{_SAID_ZH}(?:关于|有关)?的?",
    f"{_AGE_ZH}的?{_THING_ZH}[，,]?是?(?:关于|有关)",
)
_ASKED_ZH: Final = "(?:在哪里?|是哪(?:一)?(?:个|次|天)|有哪些)"
_BEFORE: Final = re.compile(rf"\W*(?:(?:{'|'.join(_ENGLISH)})(?![A-Za-z0-9_(.-])|{'|'.join(_CHINESE)})", re.IGNORECASE)
# …, which session was that?  …的会话有哪些？  关于…的讨论
_AFTER: Final = re.compile(
    rf"[\s,;.-]+(?:in )?(?:which|what) {_THING}(?: (?:was|is) (?:that|it|this))?\W*$|的?{_THING_ZH}{_ASKED_ZH}\W*$",
    re.IGNORECASE,
)
# 我们最后一次讨论部署是什么时候？
_WHEN_ZH: Final = re.compile(r"是?在?(?:什么时候|何时|哪(?:一)?[天次])\W*$")
_AROUND: Final = re.compile(
    rf"\W*{_OURS}(?P<before>{_AGE_ZH}?(?:关于|有关))(?P<subject>.+?)(?P<after>的{_THING_ZH})\W*$"
)
_NEWEST: Final = re.compile(
    r"(?<![a-z])(?:most recent|latest|newest|last)(?![a-z])|最近的?一次|最后|最新|上一?次", re.IGNORECASE
)
_OLDEST: Final = re.compile(r"(?<![a-z])(?:first|earliest|oldest)(?![a-z])|第一次|首次|最早|最初", re.IGNORECASE)

#: What words are written in.
HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
LATIN: Final = re.compile("[A-Za-z0-9_]+(?:[.'’-][A-Za-z0-9_]+)*")
_CODE: Final = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
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


@value
class QuestionSubject:
    """What a question is about: its text without its time and its filler, and the words that were dropped.

    ``embedded`` keeps the filler, and is empty if the question has no word. ``is_recap`` tells that the question is
    nothing but a time, and ``order`` in which order of time it wants the sessions.
    """

    text: str
    dropped: tuple[str, ...]
    embedded: str
    is_recap: bool
    order: TimeOrder | None


def subject_of(query: str, rest: str | None, *, simplifies: bool) -> QuestionSubject:
    """Find what a question is about. ``rest`` is what is left of it without its time, or None if it mentions none."""
    # A question that is nothing but a time keeps its words, so that there is something to search for.
    text = rest if rest is not None and words(rest) else query
    has_words = bool(words(query))
    simple = simplify(text) if simplifies else Simplified(text, ())
    # The frame would be near to talks about talks.
    embedded = unframed(text)[0] if simplifies else text
    is_recap = rest is not None and asks_for_recap(rest)
    return QuestionSubject(
        simple.text, simple.dropped, embedded if has_words else "", is_recap, asked_order(simple.dropped)
    )


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
    if not LATIN.search(left) and not HAN.search(left):
        return Simplified(text, ())
    left, frame = unframed(left)
    return Simplified(left, (*dropped, *frame))


def asks_for_recap(rest: str) -> bool:
    """Return whether a question asks for the talks of a time and nothing else, from what is left without its time.

    "what did we do on Friday" and 昨天做了什么 do; "what did we do about caching on Friday" does not.
    """
    left = _RECAP.sub(" ", simplify(rest).text)
    return not LATIN.search(left) and not HAN.search(left)


def unframed(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without its frame, and the words of the frame; a question that is nothing but a frame stays.

    "Which session talked about the HEAD request?" gives "the HEAD request?", 我们什么时候讨论过缓存？ gives 缓存？.
    """
    if len(text) > MAX_CHARS:
        return text, ()
    if around := _AROUND.match(text):
        return around["subject"].strip(), (around["before"], around["after"])
    before = _BEFORE.match(text)
    start = before.end() if before else 0
    after = _AFTER.search(text, start) or (_WHEN_ZH.search(text, start) if before else None)
    left = text[start : after.start() if after else len(text)].strip()
    if not re.search(r"\w", left):
        return text, ()
    found = (match[0].strip(" ,;.-?!，。？！") for match in (before, after) if match)
    return left, tuple(found)


def asked_order(frame: Iterable[str]) -> TimeOrder | None:
    """Return in which order of time the words of a frame want the sessions, or None if they say nothing of it.

    "the most recent session about" and "when did we last discuss" want the newest first, "the first time we talked
    about" and 第一次聊到 the oldest. The same words of a subject ("the last release") are in no frame.
    """
    said = " ".join(frame)
    return "newest" if _NEWEST.search(said) else "oldest" if _OLDEST.search(said) else None
