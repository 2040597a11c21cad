"""The frame of a question about chats: the words that only say that somebody said something.

"Did anyone mention crypttab?" is about crypttab. *Mention* and *anyone* are rare words of a chat and would be searched
for. A name ("what did Ada say about …") is no part of a frame: messages address people by it.
"""

import re
from typing import Final

#: A longer text, in characters, is no such question, and patterns that begin anywhere need not read it.
MAX_CHARS: Final = 300

_WHO: Final = (
    "(?:we|i|you|they|he|she|anyone|anybody|someone|somebody|everyone|everybody|people|(?:any|some) of (?:us|you|them))"
)
_SAID: Final = (
    "(?:talk(?:ed|ing)?|discuss(?:ed|ing)?|mention(?:ed|ing)?|sp(?:eak|oke|oken|eaking)|chat(?:ted)?|say|said|ask(?:ed)?"
    "|suggest(?:ed)?|propos(?:e|ed)|recommend(?:ed)?)"
)
_ABOUT: Final = "(?:about|of|on|upon|over|regarding|concerning|for|that)"
_ONCE: Final = "(?:(?:ever|already|previously|recently|actually|last|first) )?"
_DID: Final = "(?:did|do|does|have|has|had)"
_ENGLISH: Final = (
    # what did anyone say about …
    f"(?:what|anything) {_DID} {_WHO} {_ONCE}{_SAID} {_ABOUT}",
    # did anyone mention …, when did we discuss …
    f"(?:(?:when|where|how often) )?{_DID} {_WHO} {_ONCE}{_SAID}(?: {_ABOUT})?",
    # who suggested …, who has talked about …
    f"who (?:(?:has|have|had|was|is) )?{_ONCE}{_SAID}(?: {_ABOUT})?",
    # the message where someone mentioned …, messages about …
    f"(?:(?:find|show|search for|look for) (?:me )?)?(?:(?:the|a|an|any|all|some) )?messages? (?:where|in which|that)"
    f" (?:{_WHO} )?(?:(?:has|have|had) )?{_ONCE}{_SAID}(?: {_ABOUT})?",
    "(?:(?:find|show|search for|look for) (?:me )?)?(?:(?:the|a|an|any|all|some) )?messages? about",
)
_WHO_ZH: Final = "(?:有没有人|是否有人|有人|谁|大家|我们|咱们|他们)"
_SAID_ZH: Final = "(?:讨论|聊|谈论|谈|提|说)(?:到过|起过|过|到|起)"
_CHINESE: Final = (f"{_WHO_ZH}(?:曾经|之前|以前)?(?:是?在?什么时候|何时)?{_SAID_ZH}(?:关于|有关)?",)
_BEFORE: Final = re.compile(rf"\W*(?:(?:{'|'.join(_ENGLISH)})(?![A-Za-z0-9_(.-])|{'|'.join(_CHINESE)})", re.IGNORECASE)
_AROUND: Final = re.compile(
    r"\W*(?:关于|有关|对于|对)(?P<subject>.+?)[，,]?(?:大家|我们|他们|有人|谁)(?:都|曾经)?(?:怎么|是怎么)?(?:说|聊|谈|提)(?:了|过|到)?(?:什么|些什么|的)?\W*$"
)


def unframed(text: str) -> str:
    """Return a question without its frame. A question that is nothing but a frame stays.

    "What did anyone say about the sound card?" gives "the sound card?", 有没有人提到过船票 gives 船票.
    """
    if len(text) > MAX_CHARS:
        return text
    if around := _AROUND.match(text):
        return around["subject"].strip()
    before = _BEFORE.match(text)
    left = text[before.end() :].strip() if before else text
    return left if re.search(r"\w", left) else text
