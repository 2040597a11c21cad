"""What must be so of jobs whose workers died: when they are given up, that they are listed, and replayed or dropped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_shared.board import keys
from tests.simulation.asks import Asked
from tests.simulation.callers import Callers
from tests.simulation.endings import is_lost
from tests.simulation.faults import Troubles
from tests.simulation.poisons import Death
from tests.simulation.promises import Broken, Histories, JobHistory

#: Attempts of a step, as the settings say: so many deaths use it up.
ATTEMPTS: Final = 4
#: Faults after which no process is taken for dead.
_HARMLESS: Final = (
    "worker_clock", "bells_lost", "bells_doubled", "bells_shuffled", "store_away", "provider_away",
)  # fmt: skip
#: Kinds of jobs that have one step and no deadline.
_DURABLE: Final = ("embed", "table", "ingest")
#: The keys of a job, beside those of its shard.
_PARTS: Final = ("job", "steps", "events", "hits", "queries", "request", "result", "rings")


@dataclass(frozen=True)
class Round:
    """A job from its beginning, or since it was replayed, until its end: by which deaths it was hit."""

    job_id: str
    job: JobHistory
    own: Sequence[Death]
    others: Sequence[Death]

    def most_of_a_step(self) -> int:
        """Return how many workers died of the step that most died of."""
        steps = [death.step for death in self.own]
        return max(map(steps.count, steps), default=0)


def broken_at_end(
    callers: Callers, histories: Histories, troubles: Troubles, deaths: Sequence[Death], ask: Callable[..., Any]
) -> list[Broken]:
    """Return the promises that are broken."""
    disturbed = sum(fault.trouble not in _HARMLESS for fault in troubles.happened)
    return [
        *_given_up(histories, deaths, disturbed, troubles.lost),
        *_failed(callers.asked, histories, troubles),
        *([] if troubles.lost else _not_handled(callers, histories, ask)),
    ]


def _last_round(job_id: str, job: JobHistory, deaths: Sequence[Death], lost: Sequence[tuple[int, int]]) -> Round:
    # A board that lost its last second knows of no replay in it.
    known = [at for at in job.reopened if not any(begin <= at <= end for begin, end in lost)]
    since = max(known, default=0)
    some = [death for death in deaths if death.at >= since]
    return Round(
        job_id, job, [death for death in some if death.job_id == job_id],
        [death for death in some if death.job_id != job_id],
    )  # fmt: skip


def _given_up(
    histories: Histories, deaths: Sequence[Death], disturbed: int, lost: Sequence[tuple[int, int]]
) -> Iterator[Broken]:  # fmt: skip
    """What kills its workers is given up after so many deaths, and nothing is given up after fewer."""
    for job_id, job in histories.jobs.items():
        if job_id in histories.spoiled:
            continue
        last = _last_round(job_id, job, deaths, lost)
        died = last.most_of_a_step()
        if died > ATTEMPTS + disturbed and not lost:
            yield Broken("what kills its workers is given up", f"{job_id} killed {died} workers")
        suffered = len(last.own) + len(last.others) + disturbed
        if job.state == "dead" and suffered < ATTEMPTS:
            yield Broken("no job is given up too soon", f"{job_id} is dead after {suffered} deaths")


def _failed(asked: Sequence[Asked], histories: Histories, troubles: Troubles) -> Iterator[Broken]:
    """A job without a deadline waits for what is away and for who can read it. Given up, it is dead, not failed."""
    for each in asked:
        job = histories.jobs.get(each.job_id)
        if job is None or job.is_follower or each.job_id in histories.spoiled or is_lost(each, troubles):
            continue
        if job.state == "failed" and each.ask.kind in _DURABLE:
            yield Broken("what cannot be done is dead", f"{each.job_id} ({each.ask}) failed")


def _not_handled(callers: Callers, histories: Histories, ask: Callable[..., Any]) -> Iterator[Broken]:
    """Dead jobs are listed. One that is replayed begins again, and one that is dropped is gone."""
    if not any(each.ask.kind in ("drop", "drop_all") for each in callers.asked):  # which forgets jobs, too
        yield from _not_done(callers, histories)
        for job_id, job in histories.jobs.items():
            if job.reopened and not job.is_gone and job_id not in histories.spoiled:
                yield from _wrong_events(job_id, job, ask)
    for each in callers.handled:
        if each.was_done and each.kind == "discard" and each.job_id not in histories.spoiled:
            left = _left_of(each.job_id, ask)
            if left or not histories.jobs[each.job_id].is_gone:
                yield Broken("what is dropped is gone", f"{each.job_id} left {left}")


def _not_done(callers: Callers, histories: Histories) -> Iterator[Broken]:
    for each in callers.handled:
        if each.job_id in histories.spoiled:
            continue
        if each.was_missed:
            yield Broken("the dead are listed", f"{each.job_id} is dead, and was not on the list")
        if each.was_refused:
            yield Broken("the dead are replayed or dropped", f"the board did not {each.kind} {each.job_id}")
        is_open = any(at >= each.at for at in histories.jobs[each.job_id].reopened)
        if each.was_done and each.kind == "replay" and not is_open:
            yield Broken("the dead are replayed or dropped", f"{each.job_id} did not begin again")


def _left_of(job_id: str, ask: Callable[..., Any]) -> list[str]:
    shard = keys.prefix(job_id[0])
    left = [key for key in keys.of_job(job_id, *_PARTS) if ask("EXISTS", key)]
    # A list that another program wrote over answers with an error, and lists nothing.
    scores = {kept: ask("ZSCORE", shard + kept, job_id) for kept in ("dead", "recent", "open")}
    return left + [f"{shard}{kept}" for kept, score in scores.items() if isinstance(score, str)]


def _wrong_events(job_id: str, job: JobHistory, ask: Callable[..., Any]) -> Iterator[Broken]:
    """A job that was replayed tells its story from the new beginning on."""
    (stream,) = keys.of_job(job_id, "events")
    kept = [entry[0] for entry in ask("XRANGE", stream, "-", "+")]
    if kept != [event_id for event_id, _ in job.events]:
        yield Broken("events are whole", f"{job_id} holds {len(kept)} events, and has told {len(job.events)}")
