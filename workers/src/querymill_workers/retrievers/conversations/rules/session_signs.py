"""Signs in the words of a session: that its problem was solved, and that it mentions an earlier session."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: An answer contains a code block, or has more characters than this.
LONG_ANSWER: Final = 200
#: A solved problem takes at least this many messages.
MIN_MESSAGES: Final = 3
_USERS: Final = frozenset({"user", "human"})
_ASSISTANTS: Final = frozenset({"assistant", "ai", "bot", "model"})


def _any_of(latin: str, chinese: str) -> re.Pattern[str]:
    return re.compile(f"(?<![A-Za-z0-9])(?:{latin})(?![A-Za-z0-9])|(?:{chinese})", re.IGNORECASE)


_ASKS: Final = _any_of(
    "how|why|errors?|issues?|problems?|bugs?|exceptions?|fails?|failed|failing|failure|broken|crash(?:es|ed)?",
    "如何|怎么|怎样|为什么|为何|错误|报错|出错|异常|失败|问题",
)
_CONFIRMS: Final = _any_of(
    "thanks|thank you|thx|got it|works|worked|working now|solved|fixed it|makes sense|understood|i see",
    "谢谢|感谢|多谢|(?<![不没])明白|(?<![不没])懂了|(?<![未没])解决了|可以了|搞定|好用了",
)
#: Words between a negation and what it negates: "I don't think it is fully solved yet", 没有完全明白.
_BETWEEN: Final = "yet|really|quite|fully|completely|actually|even|been|be|get|got|have|think|is|was|it|it's|this|that"
_NEGATED: Final = _any_of(
    "(?:not|never|no longer|nothing|hardly|cannot|(?:is|was|are|has|have|had|do|does|did|ca|could|wo|would)n['’]?t)"
    f" (?:(?:{_BETWEEN}) ){{0,4}}(?:work(?:s|ed|ing)?|underst(?:and|ood)|solved?|fix(?:ed)?|makes? sense|got it)"
    "|still (?:(?:is|get|gets|getting|see|seeing|have|has|the|an?|this|that) ){0,3}(?:broken|wrong|unsolved|stuck"
    "|confused|unclear|same|not|no luck|errors?|exceptions?|fail(?:s|ed|ing)?|crash(?:es|ed|ing)?"
    "|(?:is|do|does|ca|wo)n['’]?t)",
    "(?:没|未|不)(?:有|太|大|是|很|怎么|完全|彻底|全|能|会|算|够|真的?){0,2}[看听弄搞想]?"
    "(?:明白|懂|清楚|解决|搞定|好用|可以)"
    "|(?:还|仍|依然|依旧)[是然]?(?:不行|不对|报错|出错|失败|有问题|有错|一样)",
)
_SPEAKS_OF_EARLIER: Final = _any_of(
    r"(?:we|you|i)(?:'ve| have)? (?:discussed|talked about|mentioned|covered|went over) (?:\S+ ){0,4}?"
    r"(?:before|earlier|previously|last time|yesterday|last week)"
    r"|last time|as (?:we )?(?:discussed|mentioned) (?:before|earlier|previously)|previously (?:discussed|mentioned)"
    r"|(?:previous|earlier|last|other) (?:conversation|session|chat|discussion)|that code|the code from before",
    "之前(?:我们)?(?:讨论|说|聊|提|谈|讲|问)(?:过|到)|上次(?:我们)?(?:提到|说|讨论|聊|谈|讲|问|那个|的)|上回(?:提到|说|讨论|聊)"
    "|(?:那|上)段代码|之前(?:的|那个|那段)(?:代码|方案|对话|讨论|问题)|上一?次(?:对话|会话|讨论)",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message with its role. Unknown roles are neither user nor assistant."""

    role: str | None
    text: str


def is_solved(turns: Sequence[Turn]) -> bool:
    """Whether a user asked, then an assistant answered at length or with code, and then a user confirmed."""
    if len(turns) < MIN_MESSAGES:
        return False
    awaited = 0
    for turn in turns:
        role = (turn.role or "").lower()
        if awaited == 0 and role in _USERS and _ASKS.search(turn.text):
            awaited = 1
        elif awaited == 1 and role in _ASSISTANTS and _answers(turn.text):
            awaited = 2  # the third of three signs
        elif awaited == 2 and role in _USERS and _is_confirmed(turn.text):
            return True
    return False


def speaks_of_earlier(turns: Sequence[Turn]) -> bool:
    """Whether a message explicitly mentions an earlier session."""
    return any(_SPEAKS_OF_EARLIER.search(turn.text) for turn in turns)


def _answers(text: str) -> bool:
    return "```" in text or len(text) > LONG_ANSWER


def _is_confirmed(text: str) -> bool:
    return _CONFIRMS.search(text) is not None and _NEGATED.search(text) is None
