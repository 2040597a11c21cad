"""What an answer is written from: passages within a budget of tokens."""

from collections.abc import Sequence
from typing import Final

from querymill_workers.text.tokens import cut, estimate

#: Fewer tokens of a passage seldom hold an answer; rather fewer passages are shown.
LEAST_TOKENS: Final = 100


def fitted(texts: Sequence[str], *, most_tokens: int) -> list[str]:
    """Cut texts, best first, so that together they have at most so many tokens, by `estimate`.

    Short texts stay whole, and what they leave is shared by the long ones alike. When the texts could not have
    `LEAST_TOKENS` each, the last ones are left out. Budget 600, texts of 50, 400 and 400: 50, 275 and 275.

    Args:
        texts: In the order of their relevance.
        most_tokens: The budget of all together, at least 1.
    """
    shown = texts[: max(most_tokens // LEAST_TOKENS, 1)]
    share = _share([estimate(text) for text in shown], most_tokens)
    return [cut(text, max_tokens=share) for text in shown]


def _share(needs: Sequence[int], budget: int) -> int:
    """Return the tokens that the longest texts may have, so that all together keep to the budget."""
    left = budget
    for count, need in zip(range(len(needs), 0, -1), sorted(needs), strict=True):
        if need * count > left:
            return left // count
        left -= need
    return budget
