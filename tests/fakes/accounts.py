"""A provider's account in memory: it grants what a test tells it to, and writes down what is reported to it."""

from collections.abc import Callable, Sequence

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import CallOutcome, FleetCounters, Refusal
from querymill_workers.inference.account import Account, Grant, LimitReached, RateLimitHeaders


class CountingFleetCounters(FleetCounters):
    """Counts in memory, where a test can look."""

    def __init__(self) -> None:
        super().__init__(None)

    def of(self, name: str) -> float:
        return self._counts[name]


class ScriptedAccount(Account):
    """Grants at once, unless told otherwise."""

    def __init__(
        self, *, void: int = 0, refuse_after: int | None = None,
        refusal: Exception | None = None,
    ) -> None:  # fmt: skip
        self.fleet_counters = CountingFleetCounters()
        self.model = "scripted"
        self.reserved: list[tuple[int, int]] = []
        self.reported: list[tuple[CallOutcome, int, int | None]] = []
        self.limits: list[RateLimitHeaders | None] = []
        self.refusals: list[Refusal | None] = []
        self._void = void
        self._refuse_after = refuse_after
        self._refusal = refusal or LimitReached("no call can start before the deadline")

    def max_tokens(self, lane: Lane) -> int | None:  # the account's signature
        return None

    def reserve(
        self, *, lane: Lane, tokens: int, until: float | None, requests: int = 1, collection: str = "",
        has_left: Callable[[], bool] = lambda: False, beside: bool = False,
    ) -> Grant:  # fmt: skip
        if self._refuse_after is not None and len(self.reserved) >= self._refuse_after:
            raise self._refusal
        self.reserved.append((requests, tokens))
        return Grant(lane, tokens, 0.0, "0")

    def still_holds(self, grant: Grant) -> bool:
        self._void -= 1
        return self._void < 0

    def report(
        self, grant: Grant, outcome: CallOutcome, *, tokens: int | None = None, limits: RateLimitHeaders | None = None,
        refusal: Refusal | None = None,
    ) -> None:  # fmt: skip
        self.refusals.append(refusal)
        self.reported.append((outcome, grant.tokens, tokens))
        self.limits.append(limits)

    @property
    def outcomes(self) -> Sequence[CallOutcome]:
        return [outcome for outcome, _, _ in self.reported]
