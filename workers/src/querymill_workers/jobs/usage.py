"""What a step asked of the providers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """How many calls a step made, and how many tokens they took."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens)

    def noted(self) -> dict[str, int]:
        """Name the counts as notes and results do."""
        return {"provider_calls": self.calls, "tokens": self.tokens}
