"""The prompt for a code-writing model: the request, then the best documents, within a token budget."""

import re
from collections.abc import Callable, Sequence

from querymill_shared.values import value


@value
class PromptDocument:
    """The part of a hit that the prompt shows."""

    file_path: str
    score: float
    keywords: Sequence[str]
    description: str
    code: str


def build_prompt(
    query: str, documents: Sequence[PromptDocument], *, budget: int, count_tokens: Callable[[str], int]
) -> str:
    """Write the request and then the documents, in order, in at most ``budget`` tokens.

    Documents are written whole while they fit. The first document that does not fit loses the last lines of its code
    and ends the prompt. A request longer than the budget is cut. A budget of 0 gives an empty prompt.
    """

    def fits(text: str) -> bool:
        return count_tokens(text) <= budget

    head = f"# Request\n{query}\n"
    if not fits(head):
        return head[: largest_fit(len(head), lambda size: fits(head[:size]))]
    written = head
    for rank, document in enumerate(documents, start=1):
        whole = written + _section(rank, document, document.code)
        if not fits(whole):
            return _with_part_of(written, rank, document, fits)
        written = whole
    return written


def largest_fit(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size up to ``limit`` that fits, or 0 if none does. Sizes below one that fits must fit."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _with_part_of(written: str, rank: int, document: PromptDocument, fits: Callable[[str], bool]) -> str:
    lines = document.code.splitlines()

    def part(kept: int) -> str:
        return written + _section(rank, document, "\n".join([*lines[:kept], "// … cut to the token budget"]))

    kept = largest_fit(len(lines), lambda size: fits(part(size)))
    return part(kept) if kept else written


def _section(rank: int, document: PromptDocument, code: str) -> str:
    # Longer than any run of back-ticks in what stands within, which therefore cannot close it.
    within = "\n".join([document.file_path, document.description, code])
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", within)), default=0))
    return (
        f"\n## Example {rank}\n"
        f"Score: {document.score:.4g}\n"
        f"Matched: {', '.join(document.keywords) or 'by its text'}\n"
        f"{fence}text\nPath: {document.file_path}\nDescription: {document.description}\n{fence}\n"
        f"{fence}javascript\n{code}\n{fence}\n"
    )
