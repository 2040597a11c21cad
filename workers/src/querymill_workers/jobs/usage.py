"""Usage: the provider calls of a step."""

from querymill_shared.values import value


@value
class ProviderUsage:
    """The number of calls, and the tokens that they took."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "ProviderUsage") -> "ProviderUsage":
        return ProviderUsage(self.calls + other.calls, self.tokens + other.tokens)

    def noted(self) -> dict[str, int]:
        """Return the counts under their names in notes and results."""
        return {"provider_calls": self.calls, "tokens": self.tokens}
