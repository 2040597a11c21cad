"""What a step asked of the providers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What a step asked of the providers."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens)
