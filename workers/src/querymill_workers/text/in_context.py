"""A question late in a chat: whether it refers back, and what of the earlier turns is searched with it.

"And in 2021?" finds nothing by itself. What it is about stands in the turn of the user before it, and some of it in the
answer to that turn. The whole history would drown it: of 177 questions late in a chat, nDCG@10 by words is 0.777 for
the question alone and 0.885 by this rule. With everything that was said it is lower than for the question alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from querymill_shared.earlier_turns import COUNTED_TURNS, Refers
from querymill_shared.values import value
from querymill_workers.text.tokens import cut
from querymill_workers.text.words import words

#: Of a turn, so many tokens are read.
TURN_TOKENS: Final = 400
#: What a word of the user's turn before counts where the question cannot be understood without it, what a word of the
#: answer to it does, and what a name in either counts besides if the question has a pronoun. A word of the question
#: counts 1.
OF_TURN, OF_ANSWER, OF_NAME = 0.5, 0.05, 0.1
#: How far a question leans on the turn before: wholly, by a pronoun that stands before its own subject; by half, as
#: "and …" does; a question of one or two words; one of three or four words.
WHOLLY, HALF, BARE, SLIGHTLY = 1.0, 0.5, 0.3, 0.15
_BARE_WORDS, _FEW_WORDS = 2, 4
#: A turn of the user whose words would count less is left out.
LEAST: Final = 0.02

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
#: In these, *it* and *there* stand for nothing.
_DUMMIES: Final = re.compile(
    r"\b(?:is|was|will|would|does|be) it (?:possible|better|best|likely|necessary|worth|true|normal|safe|legal|ok|okay"
    r"|me|a|an|the|take|make sense|mean|matter)\b"
    r"|\bit (?:is|was|would be|will be|seems) (?:not )?(?:possible|better|best|likely|necessary|worth|true|normal|a|an"
    r"|the|that)\b|\bit takes?\b",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|same|else|others?|another|instead"
    r"|former|latter|above|mentioned)\b"
    r"|\b(?:from|in|over|out|up|go|get|been|about) there\b|\bthere\s*[?.!]?\s*$"
    # *That* also begins a clause, where it refers to nothing.
    r"|\b(?:about|of|for|with|on|in|do|does|did|is|was|like|from|to|after|before|by|than) that\b"
    r"|^\s*that\b|\bthat\s*[?.!]?\s*$"
    r"|她|[它他](?<!其[它他])|其(?!他|它|实|次|余)|这|那(?!么)|该(?=[公产项方问系国人机])|上述|上面|前者|后者|刚才|同样",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"\s*(?:and|or|but|so|also|what about|how about|why not|why\W*$|then|ok|okay|yes|yeah|no|i see|i mean|i meant"
    r"|got it|thanks?|thank you|really|what else|any other|any more|tell me more|elaborate|for example|continue"
    r"|go on)\b"
    r"|\s*(?:那么?|还有|以及|但是?|然后|继续|详细|具体|为什么\W*$)|.*呢[?？]?\s*$",
    re.IGNORECASE | re.DOTALL,
)
#: A name or a number: what has one says of itself what it is about.
_SPECIFIC: Final = re.compile(r"(?<![.!?] )(?<!^)(?<!\n)\b[A-Z]|[0-9_]")
#: A word with a capital that does not begin a sentence, and its like after it.
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)(?<!\n)\b[A-Z][\w'’-]+(?: (?:of |the )?[A-Z][\w'’-]+)*")


@value
class SaidTurn:
    """A turn of a chat: who said it (``user`` or ``assistant``), and what."""

    role: str
    text: str


@value
class Leaning:
    """How a question refers back, and how far it leans on the turn before, from 0 to 1."""

    refers: Refers
    weight: float

    @property
    def is_whole(self) -> bool:
        """Whether the question is about what was said before, by a pronoun that stands before its own subject."""
        return self.refers == "reference" and self.weight == WHOLLY


@value
class AddedText:
    """A text that is searched beside a question, and what one of its words counts.

    ``is_needed`` marks a turn of the user without which the question cannot be understood.
    """

    text: str
    weight: float
    is_needed: bool = False


@value
class QuestionInContext:
    """A question, how far it leans on the turns before it, and what they add, the nearest first.

    ``left_out`` counts the turns that are too old to be looked at.
    """

    question: str
    leaning: Leaning
    added: tuple[AddedText, ...] = ()
    left_out: int = 0

    @property
    def beside(self) -> dict[str, float]:
        """What one word of each text that is searched beside the question counts."""
        return {each.text: each.weight for each in self.added}

    @property
    def before(self) -> tuple[str, ...]:
        """The turns of the user without which the question cannot be understood, the nearest first."""
        return tuple(each.text for each in self.added if each.is_needed)

    @property
    def meaning(self) -> str:
        """The question under the turns that it leans on, the oldest first, as a person would read them."""
        return "\n".join([*reversed(self.before), self.question])


def leaning_of(question: str) -> Leaning:
    """Return how far a question leans on the turn before it.

    "How much does it cost?" has a pronoun before any word of its own: it leans wholly (1). "Which ports did Nordhav
    build before it was sold?" has one that may mean Nordhav: ½. So do "And in 2021?" and 那2021年呢, which go on.
    "Opening hours" are two words: 0.3. Three or four, none of them a name or a number, lean slightly: 0.15.
    "Which ships did Nordhav sell?" stands alone. *Decided*: a Chinese
    character counts as a word, because four of them are a whole question to a search engine.
    """
    if _GOES_ON.match(question):
        return Leaning("continuation", HALF)
    plain = _DUMMIES.sub(" ", question)
    if pronoun := _PRONOUN.search(plain):
        return Leaning("reference", WHOLLY if len(set(words(plain[: pronoun.start()]))) <= 1 else HALF)
    own = len(set(words(_HAN.sub(" ", question)))) + len(_HAN.findall(question))
    if own <= _BARE_WORDS:
        return Leaning("few_words", BARE)
    is_about_little = own <= _FEW_WORDS and not _SPECIFIC.search(question)
    return Leaning("few_words", SLIGHTLY) if is_about_little else Leaning("no", 0)


@lru_cache(maxsize=256)  # the branches of a job ask the same
def in_context(question: str, history: tuple[SaidTurn, ...]) -> QuestionInContext:
    """Return what the earlier turns add to a question: nothing if it stands alone.

    A question that leans on the turn before by a weight takes its words at ½ of that, and those of the answer to it at
    1/20. If that turn leans on the one before it, this goes on, with the product of the weights. Where the question has
    a pronoun, the names in these texts count 1/10 more.

    Worked example: "Which ships does Nordhav own?", "And in 2020?" and now "How old are they?": the last leans wholly
    on the second (½ per word), and that by half on the first (¼ per word).
    """
    counted = [turn for turn in history[-COUNTED_TURNS:] if turn.text.strip()]
    leaning, left_out = leaning_of(question), max(len(history) - COUNTED_TURNS, 0)
    if not counted or not leaning.weight:
        return QuestionInContext(question, leaning, left_out=left_out)
    added = list(_turns_before(leaning, [turn.text for turn in reversed(counted) if turn.role == "user"]))
    if answer := _answer_before(counted):
        added.append(AddedText(answer, leaning.weight * OF_ANSWER))
    if leaning.refers == "reference" and (names := _names_in([each.text for each in added])):
        added.append(AddedText(names, leaning.weight * OF_NAME))
    return QuestionInContext(question, leaning, tuple(added), left_out)


def _turns_before(leaning: Leaning, turns: Iterable[str]) -> Iterator[AddedText]:
    """Yield the user's turns that a question leans on, the nearest first, down to the one that stands alone."""
    weight, is_needed, seen = leaning.weight, leaning.weight >= BARE, set[str]()
    for turn in turns:
        if weight * OF_TURN < LEAST:
            return
        text = cut(turn, max_tokens=TURN_TOKENS)
        if text not in seen:
            yield AddedText(text, weight * OF_TURN, is_needed)
        seen.add(text)
        before = leaning_of(text).weight
        weight, is_needed = weight * before, is_needed and before >= BARE


def said_before(question: str, history: tuple[SaidTurn, ...]) -> list[SaidTurn]:
    """Return what a model needs to be shown of a chat to understand a question, the oldest turn first.

    These are the turns of the user that the question leans on, each with the answers to it; none if it stands alone.
    """
    needed, asked, shown = in_context(question, history).before, 0, list[SaidTurn]()
    for turn in reversed(history[-COUNTED_TURNS:]):
        if asked >= len(needed) or not needed:
            break
        if turn.text.strip():
            shown.insert(0, SaidTurn(role=turn.role, text=cut(turn.text, max_tokens=TURN_TOKENS)))
        asked += turn.role == "user" and cut(turn.text, max_tokens=TURN_TOKENS) == needed[asked]
    return shown


def _answer_before(turns: Sequence[SaidTurn]) -> str:
    """Return the beginning of what the assistant said since the user's last turn."""
    said: list[str] = []
    for turn in reversed(turns):
        if turn.role == "user":
            break
        said.insert(0, turn.text)
    return cut("\n".join(said), max_tokens=TURN_TOKENS)


def _names_in(texts: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(name for text in texts for name in _NAME.findall(text)))
