"""Signs in the words of a session: that its problem was solved, and that it mentions an earlier session."""

import re
from collections.abc import Iterable, Sequence
from enum import IntFlag
from typing import Final

from querymill_shared.values import value

#: An answer contains a code block, or has more characters than this.
LONG_ANSWER: Final = 200
_USERS: Final = frozenset({"user", "human"})
_ASSISTANTS: Final = frozenset({"assistant", "ai", "bot", "model"})
_TOOLS: Final = frozenset({"tool", "function"})


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
# What a user says of work that is accepted, and what an assistant or a tool says of work that is done.
_ACCEPTS: Final = _any_of(
    "(?:commit|merge|ship|push|land|deploy|release) (?:it|this|that|these|them|everything|all"
    "|the (?:changes?|fix|pr|branch))|lgtm|(?:committed|merged|shipped|pushed|deployed)(?: it| this)?|perfect"
    "|(?:all )?tests pass(?:ed)?",
    "提交(?:吧|一下|代码)|(?:可以|帮我|请)提交|合并吧|(?:可以|请)合并|上线吧|发布吧|已(?:经)?(?:提交|合并|上线)"
    "|测试(?:都|全部?)?通过",
)
_DONE: Final = _any_of(
    "[1-9][0-9]* (?:tests? )?passed"
    "|all (?:[0-9]+ |the |of the )?(?:unit |existing |new )?tests (?:now )?pass(?:ed|ing)?"
    "|tests? (?:suite )?(?:is|are) (?:now |all )?(?:green|passing)"
    "|(?:committed|merged|pushed|deployed|shipped) (?:as|in|into|to|with|the)"
    "|(?:i've|i have|have been|has been|was|successfully)"
    r" (?:committed|merged|pushed|deployed|shipped)|\[[\w./-]+ [0-9a-f]{7,40}\]",
    "已(?:经)?(?:提交|合并|推送|上线|部署)|测试(?:已经?|都|全部?){0,2}通过|全部通过",
)
_UNDONE: Final = _any_of(
    r"[1-9][0-9]* (?:tests? )?(?:failed|errors?)|(?:not|never|before|once|after|when|until|if)(?: \S+){0,4}"
    " (?:commit(?:ted)?|merged?|ship(?:ped)?|push(?:ed)?|deploy(?:ed)?|pass(?:ed|ing)?|green)"
    r"|(?:do|does|did|have|has|is|are|was)n['’]?t (?:\S+ ){0,3}"
    "(?:commit(?:ted)?|merged?|ship(?:ped)?|push(?:ed)?|deploy(?:ed)?|pass(?:ed|ing)?|green|release|land)",
    "[没未不别](?:有|要|能)?(?:提交|合并|上线|部署|推送|通过|发布)|失败",
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


class Sign(IntFlag):
    """A sign in one message; a message may have several."""

    ASKS = 1
    ANSWERS = 2
    CONFIRMS = 4
    EARLIER = 8


@value
class Turn:
    """A message with its role. Unknown roles are neither user nor assistant."""

    role: str | None
    text: str


def is_solved(turns: Sequence[Turn]) -> bool:
    """Whether a user asked, then an assistant answered at length or with code, and then it was confirmed.

    *Decided*: a user confirms with thanks, and with an order to commit, merge or ship; so does an assistant or a tool
    that says it is done, or that the tests pass. Each sign is in a message of its own, so it takes three.
    """
    return is_solved_by(map(signs_of, turns))


def speaks_of_earlier(turns: Sequence[Turn]) -> bool:
    """Whether a message of a user explicitly mentions an earlier session."""
    return any(Sign.EARLIER in signs_of(turn) for turn in turns)


def signs_of(turn: Turn) -> Sign:
    """Return every sign in a message, for a session whose messages are not read again when it gets one more."""
    role = (turn.role or "").lower()
    found = Sign(0)
    if role in _USERS:
        found |= Sign.EARLIER if _SPEAKS_OF_EARLIER.search(turn.text) else Sign(0)
        found |= Sign.ASKS if _ASKS.search(turn.text) else Sign(0)
        found |= Sign.CONFIRMS if _is_confirmed(turn.text) or _is_done(_ACCEPTS, turn.text) else Sign(0)
    elif role in _ASSISTANTS or role in _TOOLS:
        found |= Sign.ANSWERS if role in _ASSISTANTS and _answers(turn.text) else Sign(0)
        found |= Sign.CONFIRMS if _is_done(_DONE, turn.text) else Sign(0)
    return found


def is_solved_by(signs: Iterable[Sign]) -> bool:
    """Whether the signs of a session's messages, in order, say what `is_solved` finds in the messages."""
    awaited = iter((Sign.ASKS, Sign.ANSWERS, Sign.CONFIRMS))
    sign: Sign | None = next(awaited)
    for found in signs:
        if sign is not None and sign in found:
            sign = next(awaited, None)
    return sign is None


def _answers(text: str) -> bool:
    return "```" in text or len(text) > LONG_ANSWER


def _is_done(said: re.Pattern[str], text: str) -> bool:
    return said.search(text) is not None and _UNDONE.search(text) is None


def _is_confirmed(text: str) -> bool:
    return _CONFIRMS.search(text) is not None and _NEGATED.search(text) is None
