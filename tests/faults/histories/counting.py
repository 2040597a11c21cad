"""The counts of a run, taken from its history by the checkers."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from tests.faults.histories.operations import Operation, of_kind
from tests.faults.histories.promises import REFUSALS, Breach, accepted_jobs, breaches_of


@dataclass(slots=True)
class Counts:
    """What became of the jobs of a run.

    Attributes:
        submitted: jobs that were accepted
        refused: jobs that were not
        lost: jobs that vanished, durable jobs that failed, done writes that are not found
        gone: jobs that the board lost with its data, of which whoever waited was told
        doubled: jobs that ended twice, events and passages that are there twice, keys with two jobs
        wrong: results that are not right and do not say so, what was forgotten and is found, reads that no order of
            the writes explains, events out of order or missing
        degraded: results that say what they lack
        failed: jobs with a deadline that ended without a result, with a reason
        dead: jobs on the list of those that need a person
        stuck: jobs that had not ended when all was over
        recovery_s: for each fault, the seconds from its end until all jobs that were open then had ended
        breaches: the first of what broke a promise, in words
    """

    submitted: int = 0
    refused: int = 0
    lost: int = 0
    gone: int = 0
    doubled: int = 0
    wrong: int = 0
    degraded: int = 0
    failed: int = 0
    dead: int = 0
    stuck: int = 0
    faults: int = 0
    recovery_s: list[float] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        """How often a promise was broken, without what a board lost."""
        return self.lost + self.doubled + self.wrong + self.stuck


#: So many breaches are kept in words for each run.
_SHOWN = 20


def count(history: Sequence[Operation], *, spared: Collection[str] = ()) -> Counts:
    """Count what a history shows, without the promises that are ``spared``."""
    broken = {promise: found for promise, found in breaches_of(history).items() if promise not in spared}
    by_count = Counter(breach.count for breaches in broken.values() for breach in breaches)
    ends = {end.argument["job_id"]: end.seen for end in of_kind(history, "end")}
    jobs = accepted_jobs(history)
    last = {each.argument["job_id"]: each.seen["state"] for each in of_kind(history, "last")}
    faults = of_kind(history, "fault")
    return Counts(
        submitted=len(jobs),
        refused=sum(submitted.seen.get("refused") in REFUSALS for submitted in of_kind(history, "submit")),
        lost=by_count["lost"],
        gone=by_count["gone"],
        doubled=by_count["doubled"],
        wrong=by_count["wrong"],
        degraded=sum(bool(seen.get("degraded")) for seen in ends.values()),
        failed=sum(_failed(ends.get(job_id, {})) and not job.argument["durable"] for job_id, job in jobs.items()),
        dead=sum(state == "dead" for state in last.values()),
        stuck=by_count["stuck"],
        faults=len(faults),
        recovery_s=[recovery_s(history, fault) for fault in faults],
        breaches=[_told(promise, breach) for promise, found in broken.items() for breach in found][:_SHOWN],
    )


def _failed(seen: Mapping[str, Any]) -> bool:
    """Whether a job failed for another reason than that it asked for what is not there."""
    return seen.get("state") == "failed" and seen.get("code") != "invalid"


def _told(promise: str, breach: Breach) -> str:
    return f"{promise}: {breach.about}: {breach.why}"[:500]


def recovery_s(history: Sequence[Operation], fault: Operation) -> float:
    """Return the seconds from the end of a fault until all jobs had ended that were open at some moment of it.

    A job is open from its submission until its caller sees the end.
    """
    begun = {job_id: submitted.begin for job_id, submitted in accepted_jobs(history).items()}
    ended = [
        end.end
        for end in of_kind(history, "end")
        if begun.get(end.argument["job_id"], fault.end) < fault.end and end.end > fault.begin
    ]
    return max([0.0, *(moment - fault.end for moment in ended)])


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest rank of a share of the values, None without any.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    """
    return sorted(values)[max(0, ceil(len(values) * share) - 1)] if values else None
