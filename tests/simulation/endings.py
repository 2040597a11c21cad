"""What must be so when a schedule is over: by what callers asked and were told, and what the stores hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from querymill_shared.board.submitting import key_of
from tests.simulation.asks import Asked, beside, document_of, options_of, request_of
from tests.simulation.faults import Troubles
from tests.simulation.plans import Fault
from tests.simulation.poisons import Death
from tests.simulation.promises import FINAL, Broken, Histories, JobHistory
from tests.simulation.scheduler import SECOND

#: How a stored text begins, and what of it a result quotes.
_QUOTED: Final = re.compile(r"subject(\d+) version(\d+)")
#: So much later than its deadline a job may end, in seconds: an election, a sweep.
GRACE_S: Final = 3.0
#: How long nobody may take over from a worker that died or stands still, in seconds: a lease, and an election.
TAKEOVER_S: Final = 8.0
#: How long a job takes without any fault, in seconds: some calls, a few of which take 0.9 s.
UNDISTURBED_S: Final = 10.0
#: How long a step may rest that a worker leaves to those of a newer release, in seconds: each time for twice as long.
LEFT_S: Final = 120.0


@dataclass(frozen=True)
class Write:
    """A write or a drop of a document. It was accepted between two moments; one that is ``sure`` had its effect."""

    subject: int
    content: int | None
    asked_at: int
    accepted_by: float
    done_at: float
    is_sure: bool


def broken_at_end(
    asked: Sequence[Asked], histories: Histories, troubles: Troubles, deaths: Sequence[Death], texts: Mapping[str, str],
    *, is_mixed: bool,
) -> list[Broken]:  # fmt: skip
    """Return the promises that are broken.

    ``texts`` are those stored, by document, and ``deaths`` those by poison. ``is_mixed`` is whether workers of two
    releases ran.
    """
    firsts = _first_of_each_job(asked)
    writes = list(_writes(firsts, histories))
    excused_s = sum(map(_holds_up, troubles.happened)) + sum(death.again_in_s + TAKEOVER_S for death in deaths)
    held_up_s = UNDISTURBED_S + excused_s + sum(map(_is_away, troubles.happened)) + (LEFT_S if is_mixed else 0.0)
    is_forgetting = any(each.ask.kind in ("drop", "drop_all") for each in asked)
    asked = [each for each in asked if each.job_id not in histories.spoiled]
    firsts = [each for each in firsts if each.job_id not in histories.spoiled]
    return [
        *_shut_out(asked, histories),
        *_not_ended(asked, histories, troubles),
        *_late(asked, histories, troubles, GRACE_S + excused_s),
        *_held_up(asked, histories, troubles, held_up_s),
        *_doubled(asked, histories, troubles),
        *_not_superseded(firsts, histories, troubles),
        *_wrong_stored(writes, texts),
        *_wrong_found(firsts, writes, histories),
        *_wrong_heard(asked, histories, troubles, is_forgetting=is_forgetting),
    ]


def is_lost(asked: Asked, troubles: Troubles) -> bool:
    """Whether the board may have lost the job: the promise is about what it holds."""
    return any(asked.asked_at <= until and (asked.accepted_at or 0) >= since for since, until in troubles.lost)


def _shut_out(asked: Sequence[Asked], histories: Histories) -> Iterator[Broken]:
    """Nothing that another program writes has the board refuse what callers ask for, unless their key leads to that."""
    for each in asked:
        key = each.ask.key and key_of(request_of(each.ask), options_of(each.ask))
        if each.refused == "ResponseError" and each.accepted_at is None and key not in histories.spoiled_keys:
            yield Broken("no element shuts the door", f"{each.ask} was answered with an error of the server")


def _not_ended(asked: Sequence[Asked], histories: Histories, troubles: Troubles) -> Iterator[Broken]:
    for each in asked:
        if each.accepted_at is not None and not is_lost(each, troubles):
            job = histories.jobs.get(each.job_id, JobHistory())
            if job.state not in FINAL and not job.is_gone:
                yield Broken("an accepted job ends", f"{each.job_id} ({each.ask}) is {job.state or 'unknown'}")
            elif job.ends != 1 and not job.is_gone:
                yield Broken("one end", f"{each.job_id} ({each.ask}) was told {job.ends} ends")


def _late(
    asked: Sequence[Asked], histories: Histories, troubles: Troubles, excused_s: float
) -> Iterator[Broken]:  # fmt: skip
    for each in asked:
        job = histories.jobs.get(each.job_id)
        if each.ask.deadline_s is None or each.accepted_at is None or job is None or job.ended is None:
            continue
        late_s = (job.ended - _began(each.accepted_at, job)) / SECOND - each.ask.deadline_s
        if late_s > excused_s and not is_lost(each, troubles):
            yield Broken("a deadline is kept", f"{each.job_id} ended {late_s:.1f} s after its deadline")


def _began(accepted_at: int, job: JobHistory) -> int:
    """Return since when (µs) a job is under way: one that was replayed has begun again."""
    return max(accepted_at, *job.reopened) if job.reopened else accepted_at


def _held_up(
    asked: Sequence[Asked], histories: Histories, troubles: Troubles, excused_s: float
) -> Iterator[Broken]:  # fmt: skip
    """A crash costs seconds, and not the time until a deadline."""
    for each in asked:
        job = histories.jobs.get(each.job_id)
        if each.accepted_at is None or job is None or job.ended is None or is_lost(each, troubles):
            continue
        took_s = (job.ended - _began(each.accepted_at, job)) / SECOND
        if took_s > excused_s:
            yield Broken("a crash costs seconds", f"{each.job_id} took {took_s:.1f} s, {excused_s:.1f} s at most")


def _is_away(fault: Fault) -> float:
    """Return for how long a fault of a store or provider may hold up a job: pauses between tries grow."""
    return 2 * fault.amount + TAKEOVER_S if fault.trouble in ("store_away", "provider_away") else 0.0


def _holds_up(fault: Fault) -> float:
    match fault.trouble:
        case "kill" | "kill_after" | "stop" | "freeze" | "freeze_after" | "late" | "restart" | "lose_tail" | "empty":
            return fault.amount + TAKEOVER_S
        case "rubbish":
            return TAKEOVER_S
        case "board_clock":
            return abs(fault.amount)
        case "cut" | "no_reply":
            return TAKEOVER_S
        case _:
            return 0.0


def _doubled(asked: Sequence[Asked], histories: Histories, troubles: Troubles) -> Iterator[Broken]:
    """Whoever comes with the same key is led to the same job, unless a drop has taken its record away."""
    jobs: dict[str, set[str]] = {}
    for each in asked:
        if each.ask.key and each.job_id and not troubles.lost and not histories.jobs[each.job_id].is_gone:
            jobs.setdefault(each.ask.key, set()).add(each.job_id)
    for key, known in jobs.items():
        if len(known) > 1:
            yield Broken("one job of a key", f"{key} leads to {sorted(known)}")


def _not_superseded(asked: Sequence[Asked], histories: Histories, troubles: Troubles) -> Iterator[Broken]:
    """A question that supersedes others has ended them before it is accepted."""
    some = [each for each in asked if each.ask.supersedes and each.accepted_at is not None and not troubles.lost]
    for former in some:
        for later in some:
            is_later = former.job_id != later.job_id and later.asked_at > (former.accepted_at or 0)
            if not is_later or later.ask.subject != former.ask.subject:
                continue
            job = histories.jobs[former.job_id]
            if job.reopened:
                continue  # by an operator, after that
            ended = job.ended
            if ended is None or ended > (later.accepted_at or 0):
                yield Broken("the superseded ends", f"{former.job_id} had not ended when {later.job_id} was accepted")


def _first_of_each_job(asked: Sequence[Asked]) -> list[Asked]:
    """Return the asks, of those that led to one job the first: who comes later with its key is led to what it did.

    So may be who comes with the key of one that died before it was told its job.
    """
    first: dict[object, Asked] = {}
    untold: dict[str, int] = {}
    for place, each in enumerate(asked):
        if each.ask.key and not each.job_id and each.refused != "Overloaded":
            untold[each.ask.key] = min(each.asked_at, untold.get(each.ask.key, each.asked_at))
        known = first.setdefault(each.job_id or place, each)
        if known is not each and known.accepted_at is None:
            first[each.job_id] = replace(each, asked_at=known.asked_at)
    return [
        replace(each, asked_at=min(each.asked_at, untold.get(each.ask.key or "", each.asked_at)))
        for each in first.values()
    ]


def _writes(asked: Sequence[Asked], histories: Histories) -> Iterator[Write]:
    for each in asked:
        kind = each.ask.kind
        if kind in ("ingest", "drop", "drop_all"):
            job = histories.jobs.get(each.job_id, JobHistory())
            accepted_by = float("inf") if each.accepted_at is None else each.accepted_at
            done_at = float("inf") if job.done_at is None else job.done_at
            for subject in beside(each.ask.subject) if kind == "drop_all" else [each.ask.subject]:
                content = each.ask.content if kind == "ingest" else None
                yield Write(subject, content, each.asked_at, accepted_by, done_at, job.was_done)


def _is_replaced(write: Write, writes: Sequence[Write], *, by: float) -> Write | None:
    """Return a write of the same document that was asked for after this one was accepted, and done by a moment."""
    return next(
        (
            other
            for other in writes
            if other.subject == write.subject and other.is_sure and other.done_at <= by
            and other.asked_at > write.accepted_by
        ),
        None,
    )  # fmt: skip


def _wrong_stored(writes: Sequence[Write], texts: Mapping[str, str]) -> Iterator[Broken]:
    for subject in {write.subject for write in writes}:
        of_subject = [write for write in writes if write.subject == subject]
        text = texts.get(document_of(subject))
        quoted = None if text is None else _QUOTED.search(text)
        content = None if quoted is None else int(quoted[2])
        possible = [write for write in of_subject if _is_replaced(write, of_subject, by=float("inf")) is None]
        if content is None and not any(write.content is not None and write.is_sure for write in possible):
            continue
        if not any(write.content == content for write in possible):
            held = "nothing" if content is None else f"version {content}"
            yield Broken("the newest write stands", f"the store holds {held} of document {subject}")


def _wrong_found(asked: Sequence[Asked], writes: Sequence[Write], histories: Histories) -> Iterator[Broken]:
    for each in asked:
        job = histories.jobs.get(each.job_id)
        if each.ask.kind not in ("search", "expanded") or job is None or job.done_at is None:
            continue
        found = {(int(subject), int(content)) for subject, content in _QUOTED.findall(job.result)}
        for subject, content in found:
            if subject not in beside(each.ask.subject):
                yield Broken("no collection sees another's", f"{each.job_id} found document {subject}")
            yield from _stale(subject, content, each, writes)
        if '"complete":true' in job.result.replace(" ", ""):
            yield from _missing(each, {subject for subject, _ in found}, writes, job.done_at)


def _stale(subject: int, content: int, search: Asked, writes: Sequence[Write]) -> Iterator[Broken]:
    """Nothing is found that was replaced or forgotten before the search was asked for."""
    shown = [write for write in writes if write.subject == subject and write.content == content]
    replaced = [_is_replaced(write, writes, by=search.asked_at) for write in shown]
    if not shown:
        yield Broken("what is found was written", f"{search.job_id} found version {content} of document {subject}")
    elif all(replaced):
        by = replaced[0]
        promise = "the forgotten is not found" if by and by.content is None else "the newest write is found"
        yield Broken(promise, f"{search.job_id} found version {content} of document {subject}")


def _missing(search: Asked, found: set[int], writes: Sequence[Write], done_at: float) -> Iterator[Broken]:
    """What was done before a search was asked for is found, unless something else may have been written since."""
    subject = search.ask.subject
    for write in writes:
        if write.subject != subject or write.content is None or write.done_at >= search.asked_at or subject in found:
            continue
        dropped = [
            other
            for other in writes
            if other.subject == subject and other.content is None and other.accepted_by >= write.asked_at
            and other.asked_at <= done_at
        ]  # fmt: skip
        if not dropped:
            yield Broken("what is done is found", f"{search.job_id} did not find document {subject}")
            return


def _wrong_heard(
    asked: Sequence[Asked], histories: Histories, troubles: Troubles, *, is_forgetting: bool
) -> Iterator[Broken]:
    """Who followed a job heard each of its events once, in their order: with a drop beside it, what that left."""
    for each in asked:
        if each.heard is None or troubles.lost:
            continue
        job = histories.jobs[each.job_id]
        rounds = [*job.former_events, [event for _, event in job.events]]
        told = [event for events in rounds for event in events]
        left = iter(told)
        is_part = all(event in left for event in each.heard) and each.heard[-1:] in [events[-1:] for events in rounds]
        if each.heard not in rounds and not ((is_forgetting or job.reopened) and is_part):
            yield Broken("events are whole", f"{each.job_id} told {told}, and its caller heard {each.heard}")
