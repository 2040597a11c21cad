"""How fast workers empty a queue: what the elected worker reports, and what `submit` judges a new job by."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from querymill_shared.values import value


@value
class QueuePace:
    """How fast workers begin the steps of a queue: ``per_s`` a second if so many wait, as ``waiting`` did when seen.

    ``spare`` is the share of the threads that serve the steps of collections with few, past those of one with many.
    """

    waiting: int
    per_s: float
    spare: float = 0.0


#: Nothing is known of any queue.
NO_PACES: Final[Mapping[str, QueuePace]] = MappingProxyType({})
