"""The frame of a question about conversations: the words that only say that a conversation is looked for.

"Which session talked about the retry queue?" is about the retry queue. *Session* and *talked* would find the sessions
that use these words, and they are rare in most histories, so that BM25 takes them for what matters. A frame may also
say which of the sessions is meant: "the most recent session about …", "the first time we discussed …".
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

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
