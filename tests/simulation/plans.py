"""What a schedule is made of: who asks for what and when, and what goes wrong at which call. A seed gives a plan."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

Kind = Literal[
    "embed", "table", "ingest", "drop", "drop_all", "search", "expanded", "cancel", "again", "replay", "discard"
]
Trouble = Literal[
    "kill", "kill_after", "stop", "freeze", "freeze_after", "cut", "no_reply", "late", "bells_lost", "bells_doubled",
    "bells_shuffled", "board_clock", "worker_clock", "restart", "lose_tail", "empty", "store_away", "provider_away",
    "rubbish",
]  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """What a caller asks for, when (ms), and about which document or earlier ask."""

    number: int
    at_ms: int
    kind: Kind
    subject: int = 0
    #: What tells apart the contents of a document, or the questions.
    content: int = 0
    deadline_s: float | None = None
    key: str | None = None
    #: Whether the caller hears the events of the job, to its end.
    follows: bool = False
    #: Whether it ends the former questions about its document that say so, too.
    supersedes: bool = False
    #: The step that kills whoever begins it, "*" for every step.
    poison: str = ""

    def __str__(self) -> str:
        more = "".join((
            f" within {self.deadline_s} s" if self.deadline_s else "", f" key {self.key}" if self.key else "",
            " followed" if self.follows else "", " supersedes" if self.supersedes else "",
            f" poisoned at {self.poison}" if self.poison else "",
        ))  # fmt: skip
        return f"{self.number} at {self.at_ms} ms: {self.kind} {self.subject}/{self.content}{more}"


@dataclass(frozen=True)
class Fault:
    """A trouble at the call of this number, counted over all processes. ``amount`` is in seconds where it has one."""

    call: int
    trouble: Trouble
    amount: float

    def __str__(self) -> str:
        return f"call {self.call}: {self.trouble} ({self.amount:g})"


@dataclass(frozen=True)
class Plan:
    """A schedule. Everything that is left to chance in it comes from its seed."""

    seed: int
    workers: int
    slots: int
    look_s: float
    asks: Sequence[Ask]
    faults: Sequence[Fault]
    #: Whether it is about calls of a provider under a limit instead: see budgets.py.
    is_budget: bool = False
    #: The ask whose kind of request is unknown to the release of the last worker.
    unknown: int | None = None

    def ask_of(self, number: int) -> Ask | None:
        """Return an ask."""
        return next((ask for ask in self.asks if ask.number == number), None)

    def without_asks(self, gone: set[int]) -> "Plan":
        """Return the plan without some asks."""
        return replace(self, asks=[ask for place, ask in enumerate(self.asks) if place not in gone])

    def without_faults(self, gone: set[int]) -> "Plan":
        """Return the plan without some faults."""
        return replace(self, faults=[fault for place, fault in enumerate(self.faults) if place not in gone])

    def __str__(self) -> str:
        asks = "  calls of a provider" if self.is_budget else "\n".join(f"  {ask}" for ask in self.asks)
        faults = "\n".join(f"  {fault}" for fault in self.faults)
        older = "" if self.unknown is None else f", the last of which does not know the kind of ask {self.unknown}"
        workers = f"{self.workers} workers with {self.slots} threads{older}"
        return f"seed {self.seed}: {workers}\nasks\n{asks}\nfaults\n{faults}"


#: How often each trouble is chosen, and its amounts: least and most seconds. Of rubbish, it says which.
_TROUBLES: Final[dict[Trouble, tuple[int, float, float]]] = {
    "kill": (10, 0.2, 8), "kill_after": (12, 0.2, 8), "stop": (8, 0.2, 8), "freeze": (6, 0.5, 14),
    "freeze_after": (10, 0.5, 25), "cut": (6, 0, 0), "no_reply": (14, 0, 0), "late": (8, 0.05, 20),
    "bells_lost": (6, 0, 0), "bells_doubled": (5, 0, 0), "bells_shuffled": (5, 0, 0), "board_clock": (5, -5, 5),
    "worker_clock": (3, -60, 60), "restart": (4, 0, 3), "lose_tail": (3, 0.05, 1), "empty": (2, 0, 2),
    "store_away": (6, 0.1, 20), "provider_away": (6, 0.1, 20), "rubbish": (14, 0, 1_000_000),
}  # fmt: skip


#: The shares of the schedules that are about budgets, and in which a question is asked again and again beside a write.
BUDGETS: Final = 0.1
RACES: Final = 0.1
#: The share of the other schedules in which a job kills its workers.
POISONED: Final = 0.12
#: The share of those in which a worker is of an older release.
OLDER: Final = 0.08
#: What is about another ask, and what may be poisoned.
_ABOUT: Final = ("cancel", "again", "replay", "discard")
_OF_OPERATORS: Final[Sequence[Sequence[Kind]]] = (
    ("replay",), ("replay",), ("replay", "replay"), ("replay", "discard"), ("discard",),
)  # fmt: skip
_POISONABLE: Final = ("embed", "table", "ingest", "search", "expanded")


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    chances = random.Random(seed)
    is_budget = chances.random() < BUDGETS
    asks = [] if is_budget else _race(chances) if chances.random() < RACES else _asks(chances)
    count = chances.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 7))
    span = 60 + 45 * len(asks)
    faults = sorted((_fault(chances, span) for _ in range(count)), key=lambda fault: fault.call)
    workers = chances.choice((1, 2, 2, 3))
    return Plan(
        seed, workers=workers, slots=chances.choice((1, 2, 4)), look_s=chances.choice((0.1, 0.5, 1.0)), asks=asks,
        faults=faults, is_budget=is_budget, unknown=_unknown(asks, chances),
    )  # fmt: skip


def _unknown(asks: Sequence[Ask], chances: random.Random) -> int | None:
    """Return an ask that a worker cannot read: one with a deadline, as the others may wait for long until one can."""
    some = [ask.number for ask in asks if ask.deadline_s is not None and not ask.poison]
    return chances.choice(some) if some and chances.random() < OLDER else None


def _asks(chances: random.Random) -> list[Ask]:
    found: list[Ask] = []
    documents = chances.choice(((0,), (0, 1), (0, 2), (0, 1, 2), (3,), (4,), (3, 4), (0, 3, 4)))
    at = 0
    for number in range(chances.choice((1, 2, 3, 4, 5, 6))):
        at += int(chances.choice((0, 1, 20, 300, 1500, 4000)) * chances.random())
        kind: Kind = chances.choice(
            ("embed", "table", "ingest", "ingest", "ingest", "drop", "drop_all", "search", "search", "expanded")
        )
        former = [ask.number for ask in found if ask.kind not in _ABOUT]
        if former and chances.random() < 0.15:
            kind = chances.choice(("cancel", "again"))
        is_search = kind in ("search", "expanded")
        deadline = chances.choice((1.5, 4.0, 8.0, 30.0)) if is_search else None
        subject = chances.choice(former) if kind in _ABOUT else chances.choice(documents)
        key = f"key{number}" if chances.random() < 0.25 and kind not in _ABOUT else None
        content = number if kind in ("ingest", "table") else chances.randrange(2)
        follows, supersedes = chances.random() < 0.3, is_search and chances.random() < 0.25
        found.append(Ask(number, at, kind, subject, content, deadline, key, follows=follows, supersedes=supersedes))
    return _poisoned(found, chances) if chances.random() < POISONED else found


def _poisoned(asks: list[Ask], chances: random.Random) -> list[Ask]:
    """Return asks of which one kills its workers, and what an operator does with it once it is dead."""
    some = [ask for ask in asks if ask.kind in _POISONABLE]
    if not some:
        return asks
    chosen = chances.choice(some)
    step = chances.choice(("*", "original", "hyde", "variant")) if chosen.kind == "expanded" else "*"
    found = [replace(ask, poison=step) if ask is chosen else ask for ask in asks]
    # An operator who replays it has mended the cause as a rule, which the content says.
    number = len(found)
    for kind in chances.choice(_OF_OPERATORS):
        at = chosen.at_ms + int(4000 * chances.random())
        found.append(Ask(number, at, kind, chosen.number, int(chances.random() < 0.8)))
        number += 1
    return found


def _race(chances: random.Random) -> list[Ask]:
    """Return a write between questions that are the same: who asks after its end is not led to one from before it."""
    kind: Kind = chances.choice(("search", "expanded"))
    subject = chances.choice((0, 0, 3, 4))
    at = chances.randrange(1_000, 3_000)
    found = [Ask(0, 0, "ingest", subject, 0), Ask(1, at, chances.choice(("ingest", "ingest", "drop")), subject, 1)]
    asked_at = at - chances.randrange(40)
    for number in range(2, chances.randrange(5, 10)):
        found.append(Ask(number, asked_at, kind, subject, 0, 30.0))
        asked_at += chances.randrange(chances.choice((10, 100, 1_000)))
    return found


def _fault(chances: random.Random, span: int) -> Fault:
    troubles = list(_TROUBLES)
    (trouble,) = chances.choices(troubles, [_TROUBLES[each][0] for each in troubles])
    _, least, most = _TROUBLES[trouble]
    return Fault(int(span * chances.random() ** 1.5) + 1, trouble, round(chances.uniform(least, most), 3))
