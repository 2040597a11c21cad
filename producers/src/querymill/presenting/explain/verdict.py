"""Why a job took as long as it did, in one sentence: the largest part of what its end waited for, and the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from querymill.presenting.explain.bars import KINDS, BarKind
from querymill.presenting.explain.waterfall import FUSE, Waterfall
from querymill.presenting.numbers import duration
from querymill_shared.contracts.codes import Code

#: Whose time it was: waiting for a worker, for a limit, a provider, a store, another attempt, or work of ours.
Whose = Literal["queue", "limit", "provider", "store", "retry", "us"]
WHOSE: Final[dict[BarKind, Whose]] = {
    "queue": "queue",
    "limit": "limit",
    "put_back": "retry",
    "lost": "retry",
    "chat": "provider",
    "embed": "provider",
    "rerank": "provider",
    "search": "store",
    "fuse": "us",
    "other": "us",
    "running": "us",
}
#: A job that is done in less than this is fast, and nothing else is said of it.
FAST_MS: Final = 300.0
#: The second largest part is named if it is at least this share of the whole.
SECOND_SHARE: Final = 0.2

#: What each kind of model is called.
_MODELS: Final[dict[str, str]] = {"chat": "the chat model", "embed": "the embedding model", "rerank": "the judge"}
#: Why a step was put back, by the code of its attempt.
_PUT_BACK: Final[dict[str, str]] = {
    "limit": "because the provider's limit left no call",
    "provider_down": "because the provider did not respond",
    "provider_refused": "because the provider's reply was of no use",
    "store_down": "because a store was away",
    "pending": "because other work had to come first",
    "lost": "because its worker was lost",
    "budget": "because the budget of the API key is used up",
    "bug": "after an internal error",
}


#: What a step did in its time, by kind: ``of`` is the model, ``why`` says why it was put back.
_DID: Final[dict[BarKind, str]] = {
    "queue": "waited {took} for a free worker",
    "limit": "waited {took} for {of}'s limit",
    "chat": "waited {took} for {of}'s reply",
    "embed": "waited {took} for {of}'s reply",
    "rerank": "waited {took} for {of}'s reply",
    "put_back": "waited {took} for its next attempt {why}",
    "lost": "waited {took} until its worker was known to be lost",
    "search": "searched for {took}",
    "fuse": "worked for {took}",
    "other": "worked for {took}",
    "running": "has been running for {took}",
}


@dataclass(frozen=True, slots=True)
class TimeShare:
    """A part of what the end waited for: a step, what it did, for how long, and whose time that was.

    ``part`` is the part of the attempt, from which a limit tells whose limit it was. ``code`` is that of the attempt
    after which a step was put back.
    """

    step: str
    kind: BarKind
    ms: float
    part: str = ""
    code: Code | None = None

    @property
    def whose(self) -> Whose:
        """Whose time it was."""
        return WHOSE[self.kind]


@dataclass(frozen=True, slots=True)
class SpeedVerdict:
    """``sentence`` names the ``shares``, at most two. ``share`` is theirs of the whole, 0 to 1. ``word`` heads it."""

    word: Literal["fast", "slow", "so far"]
    sentence: str
    shares: tuple[TimeShare, ...] = ()
    share: float = 0.0


def verdict(drawn: Waterfall) -> SpeedVerdict:
    """Say where the time of a job went, from its critical path; for a job that has not ended, so far."""
    total = sum(stretch.bar.ms for stretch in drawn.critical)
    if drawn.ended is not None and drawn.ended < FAST_MS:
        return SpeedVerdict("fast", "fast")
    shares = sorted(_shares(drawn), key=lambda share: -share.ms)
    if not shares or total <= 0:
        return SpeedVerdict("so far" if drawn.ended is None else "slow", "Nothing is known of its steps.")
    named = [shares[0], *(share for share in shares[1:2] if share.ms >= SECOND_SHARE * total)]
    part = sum(share.ms for share in named) / total
    sentence = f"{join_clauses(named)}: {part:.0%} of the time.".replace("%", " %")
    return SpeedVerdict("so far" if drawn.ended is None else "slow", sentence, tuple(named), part)


def _shares(drawn: Waterfall) -> list[TimeShare]:
    """Add up the critical path by step, kind, and, for a limit, whose limit it was."""
    found: dict[tuple[str, BarKind, str], float] = {}
    for stretch in drawn.critical:
        of = KINDS.get(stretch.bar.part, "other") if stretch.bar.kind == "limit" else ""
        key = (stretch.step, stretch.bar.kind, of)
        found[key] = found.get(key, 0.0) + stretch.bar.ms
    return [TimeShare(step, kind, ms, of, _code_of(drawn, step, kind)) for (step, kind, of), ms in found.items()]


def _code_of(drawn: Waterfall, step: str, kind: BarKind) -> Code | None:
    if kind != "put_back":
        return None
    rows = [each for row in drawn.rows for each in (row, *row.folded) if each.name == step]
    codes = [tried.attempt.code for row in rows for tried in row.attempts if tried.attempt.code is not None]
    return codes[0] if codes else None


def join_clauses(named: Sequence[TimeShare]) -> str:
    """Say what happened in each share. The second one does not repeat the step, nor "waited"."""
    first, *others = named
    said = f"{subject_of(first)} {clause_of(first)}"
    for share in others:
        if share.step == first.step:
            said += f" and {_after(first, share)}"
        else:
            said += f", and {subject_of(share)} {clause_of(share)}"
    return said


def subject_of(share: TimeShare) -> str:
    """Name the step, or what was done between and after the steps."""
    if share.step == FUSE:
        return "ranking the hits"
    return share.step or "the change from one step to the next"


def _after(first: TimeShare, second: TimeShare) -> str:
    clause = clause_of(second)
    return clause.removeprefix("waited ") if clause_of(first).startswith("waited ") else clause


def clause_of(share: TimeShare) -> str:
    """Say what a step did in a share of its time, such as "waited 0.40 s for the chat model's limit"."""
    said = "took {took}" if share.step in ("", FUSE) else _DID[share.kind]
    why = _PUT_BACK.get(share.code or "", "after one that failed")
    of = _MODELS.get(share.part if share.kind == "limit" else share.kind, "the provider")
    return said.format(took=duration(share.ms), of=of, why=why)
