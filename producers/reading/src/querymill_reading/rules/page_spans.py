"""Numbers of pages in words, for what is said of several pages at once."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

#: Letters of the numbers of pages that a remark has.
MAX_NUMBERS: Final = 200


def spans(numbers: Sequence[int]) -> str:
    """Return numbers in the order of their size, those that follow each other as one span.

    >>> spans([1, 2, 3, 7])
    '1-3, 7'
    """
    told = []
    for _, group in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        few = [number for _, number in group]
        told.append(str(few[0]) if len(few) == 1 else f"{few[0]}-{few[-1]}")
    text = ", ".join(told)
    return text if len(text) <= MAX_NUMBERS else f"{text[:MAX_NUMBERS].rpartition(', ')[0]} and more"


def pages_named(numbers: Sequence[int]) -> str:
    """Return the place that pages are, in the order of their numbers.

    >>> pages_named([4]), pages_named([1, 2])
    ('page 4', 'pages 1-2')
    """
    return f"page{'s' if len(numbers) > 1 else ''} {spans(numbers)}"
