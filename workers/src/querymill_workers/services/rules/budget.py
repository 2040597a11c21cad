"""The passages that an answer is written from, cut to a budget of tokens."""

from collections.abc import Sequence
from typing import Final

from querymill_workers.text.tokens import cut, estimate

#: A passage cut to fewer tokens seldom holds an answer; fewer passages are shown instead.
MIN_PASSAGE_TOKENS: Final = 100


def fitted(texts: Sequence[str], *, max_tokens: int) -> list[str]:
    """Cut texts so that together they have at most ``max_tokens`` tokens, counted by `estimate`.

    Short texts stay whole. The long ones share the rest of the budget equally: with a budget of 600, texts of 50, 400
    and 400 tokens get 50, 275 and 275. If there is not room for `MIN_PASSAGE_TOKENS` of each text, the last ones are
    left out.

    Args:
        texts: The texts, best first.
        max_tokens: The budget of all texts together, at least 1.
    """
    shown = texts[: max(max_tokens // MIN_PASSAGE_TOKENS, 1)]
    share = _share([estimate(text) for text in shown], max_tokens)
    return [cut(text, max_tokens=share) for text in shown]


def _share(needs: Sequence[int], budget: int) -> int:
    """Return how many tokens each of the longest texts may have, so that all together keep to the budget."""
    left = budget
    for count, need in zip(range(len(needs), 0, -1), sorted(needs), strict=True):
        if need * count > left:
            return left // count
        left -= need
    return budget
