"""What can go wrong outside a step, and what the job does then."""


class Unavailable(Exception):
    """Something outside did not answer as it should; trying again later may help, not before ``again_in_s``."""

    def __init__(self, reason: str, *, again_in_s: float = 0.0) -> None:
        super().__init__(reason)
        self.again_in_s = again_in_s


class Refused(Exception):
    """Something outside gave an answer that trying again would not better."""


class Unreadable(Refused):
    """What was asked is not written as it must be."""
