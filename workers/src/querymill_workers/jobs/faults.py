"""Failures of what a step depends on: those worth another attempt, and those that are not."""


class Unavailable(Exception):
    """A store or a provider failed; another attempt may help, but not within ``again_in_s`` seconds."""

    def __init__(self, reason: str, *, again_in_s: float = 0.0) -> None:
        super().__init__(reason)
        self.again_in_s = again_in_s


class Refused(Exception):
    """Another attempt would fail in the same way."""


class Unreadable(Refused):
    """An input is malformed, such as a pattern that does not compile."""
