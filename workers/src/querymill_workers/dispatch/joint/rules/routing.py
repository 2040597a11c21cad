"""Whether the branches that were asked first have found enough, so that the others are spared.

They have if one of their first hits says at least half of the question: each word counts alike, for what is rare among
the hits of a few branches may be common in the others. `querymill_shared.contracts.routing` has what is asked first.
"""

from collections.abc import Iterable
from typing import Final

from querymill_workers.dispatch.joint.rules.ranking import words_of

#: The share of the words of a question that one hit has to have. Chosen with the signs: see `tests/quality/search.md`.
ENOUGH: Final = 0.5


def said_of(question: str, hits: Iterable[str]) -> float:
    """Return the largest share of the words of a question that one of some texts has.

    >>> said_of("Why does max_retries not hold?", ["max_retries = 3", "nothing else holds"])
    0.75
    >>> said_of("Who may read build.sh?", ["the fleet has nine ships"])
    0.0
    """
    asked = words_of(question)
    return max((len(asked & words_of(hit)) / len(asked) for hit in hits), default=0.0) if asked else 0.0
