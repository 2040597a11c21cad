"""The context for a sub-agent: the high files joined within a budget, whole if they fit, or else their excerpts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_workers.retrievers.files.rules.code import lines_of
from querymill_workers.retrievers.files.rules.relevance import Lines

#: A part is left out if the budget leaves it fewer tokens than this.
MIN_PART_TOKENS: Final = 60
_BACKTICKS: Final = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file to join: its content, and the lines most relevant to the request."""

    path: str
    content: str
    excerpt: Sequence[Lines]


@dataclass(frozen=True, slots=True)
class Context:
    """The joined text, and the path and lines of each part in it."""

    text: str
    parts: Sequence[tuple[str, Lines]]


def joined(files: Sequence[ContextFile], *, budget: int, count_tokens: Callable[[str], int]) -> Context:
    """Join files, most relevant first, until the budget is used up.

    Each file may take an even share of the budget that is left: whole if it fits, or else its excerpt, cut at the end
    of a line. What a file does not use is left for the next files. Backticks in a file cannot close the fence around
    it.
    """
    texts: list[str] = []
    parts: list[tuple[str, Lines]] = []
    left = budget
    for number, file in enumerate(files):
        share = left // (len(files) - number)
        for lines in _chosen(file, share, count_tokens):
            kept = _within(file, lines, share, count_tokens)
            if kept is None:
                break
            text, cut = kept
            spent = count_tokens(text)
            left, share = left - spent, share - spent
            texts.append(text)
            parts.append((file.path, cut))
    return Context("\n".join(texts), parts)


def shown(path: str, lines: Lines, content: str) -> str:
    """Show lines of a file under its path, between fences that do not occur in them."""
    text = "\n".join(lines_of(content)[lines[0] - 1 : lines[1]])
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=2))
    return f"{path}:{lines[0]}-{lines[1]}\n{fence}\n{text}\n{fence}\n"


def _chosen(file: ContextFile, share: int, count_tokens: Callable[[str], int]) -> Sequence[Lines]:
    whole = (1, max(1, len(lines_of(file.content))))
    fits = count_tokens(shown(file.path, whole, file.content)) <= share
    return [whole] if fits or not file.excerpt else file.excerpt


def _within(
    file: ContextFile, lines: Lines, budget: int, count_tokens: Callable[[str], int]
) -> tuple[str, Lines] | None:
    """Cut lines from the end until they fit; return None if too few would be left."""
    first, last = lines
    while (text := shown(file.path, (first, last), file.content)) and count_tokens(text) > budget:
        if last - first < 1 or budget < MIN_PART_TOKENS:
            return None
        last = first + (last - first) * 3 // 4
    return text, (first, last)
