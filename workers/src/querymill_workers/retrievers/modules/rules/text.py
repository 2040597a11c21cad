"""The text that is indexed of a document, and the parts that a chat model splits a request into."""

import re
from collections.abc import Sequence
from typing import Final

from querymill_workers.retrievers.modules.rules.names import last_segment
from querymill_workers.text.queries import wrapped

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_WEIGHTED: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})?) ?[:|：] ?(\S.*)", re.ASCII)
#: At most this many parts are read from one reply.
MAX_PARTS: Final = 8
#: The weight of a part without a number, and the largest weight of a part.
PART_WEIGHT, MAX_WEIGHT = 5.0, 10.0


def searchable_text(description: str, names: Sequence[str], code: str) -> str:
    """Return the text to index: description, module names, and the identifiers of the code."""
    return "\n".join([description, " ".join(map(last_segment, names)), " ".join(_IDENTIFIER.findall(code))])


def without_texts(text: str, said: Sequence[str]) -> str:
    """Blank out parts of a text: a class that no document has is no hit by a part of its name."""
    for part in sorted(dict.fromkeys(said), key=len, reverse=True):
        text = text.replace(part, " ")
    return text


def weighted_parts(reply: str) -> list[tuple[str, float]]:
    """Return the parts of a reply such as ``<8: a cone> <3: orientation axes>`` with their weights.

    A weight is at most 10, and 5 if the part has no number. The list is empty if the reply holds no parts.
    """
    parts = []
    for part in wrapped(reply, limit=MAX_PARTS):
        weighted = _WEIGHTED.fullmatch(part)
        if weighted is None:
            parts.append((part, PART_WEIGHT))
        else:
            parts.append((weighted[2], min(float(weighted[1]), MAX_WEIGHT)))
    return parts
