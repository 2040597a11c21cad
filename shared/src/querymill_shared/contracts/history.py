"""What was said before a question: the earlier turns of its chat, and what a search made of them."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.fields import AnyRequest, Contract, Growing, PageText
from querymill_shared.contracts.results import JobResult
from querymill_shared.earlier_turns import COUNTED_TURNS, Refers

#: More turns than this, or more characters of all of them, are rejected.
MAX_TURNS, MAX_HISTORY_CHARS = 1_000, 1_000_000
#: The name of what the earlier turns add to a question, in `expansion_texts` and in explanations.
HISTORY: Final = "history"


class Turn(Contract):
    """One message of a chat. A text without words, such as that of a reply that only calls tools, is passed over."""

    role: Annotated[Literal["user", "assistant"], Field(description="who said it")]
    text: Annotated[PageText, Field(description="what was said")]


def _has_room(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    characters = sum(len(turn.text) for turn in turns)
    if characters > MAX_HISTORY_CHARS:
        raise ValueError(f"all turns must have at most {MAX_HISTORY_CHARS:,} characters together, not {characters:,}")
    return turns


class InChat(AnyRequest):
    """Base class of the requests that may be asked late in a chat."""

    history: Annotated[
        tuple[Turn, ...],
        Field(
            max_length=MAX_TURNS,
            description="earlier turns of the chat, oldest first: what the question refers back to is searched, too;"
            f" the last {COUNTED_TURNS} count",
        ),
        AfterValidator(_has_room),
    ] = ()


class HistoryUse(Contract):
    """What the earlier turns of a chat added to a question.

    Attributes:
        refers: how the question refers back: by a word such as "it" ("reference"), by going on as "and …" does
            ("continuation"), by having hardly any word of its own ("few_words"); "no": it stands alone
        weights: weights of the texts that were added, which stand in `expansion_texts` under `history`, in their order;
            a word of the question weighs 1
        left_out: how many of the oldest turns were not looked at
    """

    refers: Annotated[Refers, Growing]
    weights: tuple[float, ...] = ()
    left_out: int = 0


class FoundInChat(JobResult):
    """Base class of the results of searches, which say what the earlier turns of a chat added."""

    expansion_texts: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict, description="texts that were searched next to the question, by what wrote them"
    )
    history: Annotated[
        HistoryUse | None,
        Field(description="what earlier turns added to the question; null: the request has no earlier turns"),
    ] = None
