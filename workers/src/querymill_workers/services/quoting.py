"""Answer by quotation, where no chat model writes: what the hits say of the question, sent like an answer.

hits ─> statements that say most of the question ─> parts of the answer, each with the number of its hit
"""

from collections.abc import Sequence
from typing import Final

from querymill_workers.services.rules.quoting import Quotable, quote, said_in
from querymill_workers.services.stream import AnswerStream
from querymill_workers.text.languages import Language

#: What is said where nothing is near the question.
NOTHING_NEAR: Final[dict[Language, str]] = {
    "en": "The passages hold nothing that answers this.",
    "zh": "这些段落中没有能回答这个问题的内容。",
}


def send_quotation(
    question: str, hits: Sequence[Quotable], stream: AnswerStream, *, language: Language, max_tokens: int
) -> str:
    """Send a quotation part by part, and return it whole: a statement a line, with its citation."""
    parts = said_in(quote(question, hits), max_tokens=max_tokens) or [NOTHING_NEAR[language]]
    for number, part in enumerate(parts):
        if not stream.hear(part if number == 0 else f"\n{part}"):
            break
    return stream.end()
