"""Which shards of the board this process sweeps: the processes of a fleet share them."""

import math
import random

from querymill_shared.board import ValkeyBoard
from querymill_shared.board.keys import SHARDS

#: How long an election lasts, in seconds.
TERM_S = 2.0


def share_of(living: int) -> int:
    """Return how many shards each of so many processes sweeps at most."""
    return math.ceil(len(SHARDS) / max(1, living))


class Election:
    """Stands for election in the name of a process, for as many shards as it is due."""

    def __init__(self, board: ValkeyBoard, life: str) -> None:
        self._board = board
        self._life = life
        self._elected = ""

    def shards(self) -> str:
        """Stand, and return the shards that only this process sweeps for half a term from now.

        Which shards nobody sweeps is known of all at once, but each shard decides for itself who sweeps it.
        """
        told = self._board.elect(self._life, self._elected, term_s=TERM_S)
        candidates = self._board.stand(self._life, told, term_s=TERM_S)
        share = share_of(candidates.living)
        kept, surplus = told[:share], told[share:]
        self._board.resign(self._life, surplus)
        # Each candidate tries others first.
        wanted = random.sample(candidates.free, k=min(len(candidates.free), share - len(kept)))
        self._elected = kept + self._board.elect(self._life, "".join(wanted), term_s=TERM_S)
        if self._elected != told:
            self._board.stand(self._life, self._elected, term_s=TERM_S)
        return self._elected
