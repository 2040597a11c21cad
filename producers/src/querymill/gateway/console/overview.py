"""The overview as a value: what is wrong and what mends it, the queues, what waits longest, the providers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from querymill.gateway.console.accounts import FORGOTTEN_S, asked_lately
from querymill.gateway.console.wording import count, duration
from querymill_shared.board import Picture
from querymill_shared.board.counts import MINUTES, joined, of_all
from querymill_shared.fleet_history import Minute, total

#: A step that has waited this long, in seconds, though workers listen, is worth a word.
LONG_S: Final = 60.0
#: Sentences of the verdict.
SAID: Final = 3
#: A larger share of the jobs that ended in the last minutes is worth a word, if it failed or if it lacks a part: at
#: least so many jobs, of all kinds or of one, or else all that ended. One of two is none.
FAILED_SHARE: Final = 0.05
INCOMPLETE_SHARE: Final = 0.1
MIN_JOBS: Final = 3


@dataclass(frozen=True, slots=True)
class OverviewFinding:
    """Something that is wrong, and what mends it. ``at`` is the page on which to do so, "" if it is no page."""

    said: str
    mend: str
    level: str = "bad"
    at: str = ""


@dataclass(frozen=True, slots=True)
class RefusedUpload:
    """An upload that stored nothing: each of its ``lines`` was refused."""

    batch: str
    kind: str
    collection: str
    lines: int


#: A line needs two, and has at most the minutes of an hour.
_MIN_POINTS: Final = 2
HOUR: Final = 60


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue: how many steps wait and for how long (s), the slots of its workers, its steps per minute.

    ``busy`` counts the steps that its workers run now, those of their other queues included; None if none says so.
    ``per_minute`` is about the last minutes, None if nothing is known of them. ``rates`` are those of the last hour.
    """

    name: str
    workers: int
    slots: int
    waiting: int
    oldest_s: float | None
    per_minute: float | None
    busy: int | None = None
    rates: tuple[float, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether something waits because every slot is busy."""
        return bool(self.waiting) and self.busy is not None and 0 < self.slots <= self.busy

    @property
    def line(self) -> str:
        """The rates as the points of a line, 60 wide and 14 high; "" with fewer than two."""
        return points_of(self.rates)

    @property
    def is_deserted(self) -> bool:
        """Whether something waits, or may wait, and nobody listens."""
        return not self.workers


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that is not over: since when it waits (s), at which step, and why."""

    job_id: str
    kind: str
    collection: str
    age_s: float
    step: str
    why: str
    is_stuck: bool = False


@dataclass(frozen=True, slots=True)
class RecentEnds:
    """How jobs ended in the last ``minutes``. Those that are done are "complete" or "incomplete"."""

    minutes: int
    by_state: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many ended."""
        return sum(self.by_state.values())


@dataclass(frozen=True, slots=True)
class Hour:
    """How many jobs ended per minute in the last hour, on average and by the minute, and within how long (s)."""

    per_minute: float
    half_within_s: float | None
    most_within_s: float | None
    rates: tuple[float, ...]

    @property
    def line(self) -> str:
        """The rates as the points of a line, 60 wide and 14 high; "" with fewer than two."""
        return points_of(self.rates)


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind of job: how many were submitted, failed or lack a part, and within how long (s) 50 % and 95 % ended."""

    kind: str
    submitted: int
    failed: int
    incomplete: int
    half_within_s: float | None
    most_within_s: float | None


@dataclass(frozen=True, slots=True)
class Caches:
    """Shares of lookups that needed no call of a provider, None if there were none; texts set aside."""

    vectors: float | None
    replies: float | None
    set_aside: int


def findings(
    figures: Mapping[str, Any], *, operates: bool = True, refused: Sequence[RefusedUpload] = ()
) -> list[OverviewFinding]:
    """Return what is wrong with the fleet, the worst first, at most three.

    Who does not operate it hears of queues and of uploads that they may see: providers, and jobs of others, are none of
    theirs.
    """
    queues = figures["queues"]
    found = [] if figures["workers"] else [OverviewFinding("No worker is alive.", "querymill worker")]
    if figures["workers"]:
        deserted = [queue for queue in queues if not queue["workers"] and queue["waiting"]]
        found += [_deserted(queue) for queue in sorted(deserted, key=lambda queue: -(queue["oldest_s"] or 0))]
    for provider in asked_lately(figures["providers"]) if operates else ():
        named = f"The provider of {provider['model']}{f' at {at}' if (at := provider.get('address')) else ''}"
        if provider["breaker"] == "open":
            said = f"{named} failed {provider['failures']} times and is left alone."
            found.append(OverviewFinding(said, _LOOK))
        elif provider["paused_s"]:
            said = f"{named} asked for a pause of {duration(provider['paused_s'])}."
            found.append(OverviewFinding(said, "lower its limit (…_RPM, …_TPM) if this comes often", "warn"))
        elif provider["breaker"] == "half-open" and (provider.get("failed_ago_s") or 0) < FORGOTTEN_S:
            often = "once" if provider["failures"] == 1 else f"{provider['failures']} times in a row"
            said = f"{named} failed {often} and is being tried again."
            found.append(OverviewFinding(said, _LOOK, "warn"))
    if operates:
        found += _of_jobs(figures)
    found += [_of_upload(upload) for upload in refused]
    slow = [queue for queue in queues if queue["workers"] and (queue["oldest_s"] or 0) > LONG_S]
    found += [_slow(queue) for queue in sorted(slow, key=lambda queue: -queue["oldest_s"])]
    if figures["dead_letters"] and operates:
        dead = figures["dead_letters"]
        said = f"{count(dead)} {'job was' if dead == 1 else 'jobs were'} given up for good."
        found.append(OverviewFinding(said, "read why under Dead, and replay or drop", "warn", "/console/dead"))
    return found[:SAID]


#: What to do about a provider that fails.
_LOOK: Final = "look at its address, key and status; it is tried again by itself"


def _of_upload(upload: RefusedUpload) -> OverviewFinding:
    lines = "The only line" if upload.lines == 1 else f"All {count(upload.lines)} lines"
    were = "was" if upload.lines == 1 else "were"
    said = f"{lines} of an upload of {upload.kind} into {upload.collection} {were} refused."
    at = f"/console/ingestions/{upload.batch}"
    return OverviewFinding(said, "read why, mend the file, and send it again", "warn", at)


def _of_jobs(figures: Mapping[str, Any]) -> list[OverviewFinding]:
    """Return what is wrong with the jobs that ended in the last minutes: too many failed, or too many lack a part."""
    jobs, minutes = figures["lately"]["jobs"], figures["lately"]["minutes"]
    ended = {kind: sum(job["ended"].values()) - job["ended"].get("cancelled", 0) for kind, job in jobs.items()}
    failed = {kind: sum(job["ended"].get(state, 0) for state in ("failed", "dead")) for kind, job in jobs.items()}
    incomplete = {kind: job["incomplete"] for kind, job in jobs.items()}
    found = []
    if said := _too_many(failed, ended, FAILED_SHARE):
        said = f"{said} failed in the last {minutes} min."
        found.append(OverviewFinding(said, "read why under the failed jobs", at="/console/jobs?state=failed"))
    if said := _too_many(incomplete, ended, INCOMPLETE_SHARE):
        said = f"{said} ended in the last {minutes} min with a part missing."
        found.append(
            OverviewFinding(said, "read which under the incomplete jobs", "warn", "/console/jobs?state=incomplete")
        )
    return found


def _too_many(some: Mapping[str, int], of: Mapping[str, int], share: float) -> str:
    """Return how many jobs of which kinds are more than a share, of all kinds or of one, or "" if none are.

    >>> _too_many({"reports": 28, "embed": 0}, {"reports": 30, "embed": 30}, 0.05)
    '28 of 60 jobs (reports: 28 of 30)'
    """
    all_of, kinds = sum(of.values()), sorted(some, key=lambda kind: -some[kind])
    lacking = sum(some.values())
    is_all = 0 < lacking == all_of
    if not is_all and not any(
        number >= MIN_JOBS and number > share * ended
        for number, ended in ((lacking, all_of), *((some[kind], of[kind]) for kind in kinds))
    ):
        return ""
    named = ", ".join(f"{kind}: {count(some[kind])} of {count(of[kind])}" for kind in kinds[:3] if some[kind])
    return f"{count(lacking)} of {count(all_of)} {'job' if all_of == 1 else 'jobs'} ({named})"


def _deserted(queue: Mapping[str, Any]) -> OverviewFinding:
    wait = f", the oldest for {duration(queue['oldest_s'])}" if queue["oldest_s"] else ""
    steps = "1 step waits" if queue["waiting"] == 1 else f"{count(queue['waiting'])} steps wait"
    return OverviewFinding(
        f"Nobody listens on `{queue['queue']}`: {steps}{wait}.", f"querymill worker --queues {queue['queue']}"
    )


def _slow(queue: Mapping[str, Any]) -> OverviewFinding:
    said = (
        f"The oldest of {count(queue['waiting'])} steps on `{queue['queue']}` has waited {duration(queue['oldest_s'])}."
    )
    return OverviewFinding(said, "more workers or threads for this queue, if its provider allows more", "warn")


def points_of(values: Sequence[float]) -> str:
    """Return the points of a sparkline, 60 wide and 14 high, or "" for fewer than two values.

    >>> points_of((0, 4, 2))
    '0,13 30,1 60,7'
    """
    if len(values) < _MIN_POINTS:
        return ""
    most = max(values) or 1.0
    step = 60 / (len(values) - 1)
    return " ".join(f"{place * step:.4g},{13 - 12 * value / most:.4g}" for place, value in enumerate(values))


def rates_of(names: str, minutes: Sequence[Minute]) -> tuple[float, ...]:
    """Return how much was counted per minute under names that begin so, in each minute of the last hour.

    A time without workers has its average in each of its minutes.
    """
    rates: list[float] = []
    for minute in minutes:
        if minute.passed_s > 0:
            counted = sum(count for name, count in minute.counted.items() if name.startswith(names))
            rates += [counted * 60 / minute.passed_s] * min(max(1, round(minute.passed_s / 60)), HOUR)
    return tuple(rates[-HOUR:])


def queue_rows(figures: Mapping[str, Any], minutes: Sequence[Minute] = ()) -> list[QueueRow]:
    """Return the queues, with their rates as far as the history of the fleet has them."""
    rows = []
    for queue in figures["queues"]:
        name = queue["queue"]
        serving = [worker for worker in figures["workers"] if name in worker["queues"]]
        told = [worker["busy"] for worker in serving if worker.get("busy") is not None]
        rates = rates_of(f"steps_run/{name}", minutes)
        lately = rates[-MINUTES:]
        rate = sum(lately) / len(lately) if lately else None
        rows.append(QueueRow(name, queue["workers"], queue["slots"], queue["waiting"], queue["oldest_s"], rate,
                             sum(told) if told else None, rates))  # fmt: skip
    return rows


def hour_of(minutes: Sequence[Minute]) -> Hour | None:
    """Return how jobs of all kinds ended by the minute, and within how long, or None if nothing is known of it."""
    rates = rates_of("ended/", minutes)
    if not rates:
        return None
    latency = of_all(joined(total(minutes)).latency.values())
    half, most = (latency.within(share) if latency.jobs else inf for share in (0.5, 0.95))
    return Hour(sum(rates) / len(rates), None if half == inf else half, None if most == inf else most, rates)


def ends(figures: Mapping[str, Any]) -> RecentEnds:
    """Return how jobs of all kinds ended in the last minutes."""
    by_state: dict[str, int] = {}
    for job in figures["lately"]["jobs"].values():
        for state, number in job["ended"].items():
            by_state[state] = by_state.get(state, 0) + number
        by_state["incomplete"] = by_state.get("incomplete", 0) + job["incomplete"]
    by_state["complete"] = by_state.pop("done", 0) - by_state.get("incomplete", 0)
    return RecentEnds(figures["lately"]["minutes"], by_state)


def kind_rows(figures: Mapping[str, Any]) -> list[KindRow]:
    """Return the kinds of job, the one with the most jobs first."""
    rows = []
    for kind, job in figures["jobs"].items():
        took = job.get("seconds") or {}
        failed = sum(job["ended"].get(state, 0) for state in ("failed", "dead"))
        rows.append(
            KindRow(
                kind,
                job["submitted"],
                failed,
                job["incomplete"],
                took.get("half_within"),
                took.get("95_percent_within"),
            )
        )
    return sorted(rows, key=lambda row: -row.submitted)


def caches(counts: Mapping[str, float]) -> Caches:
    """Return how often the caches spared a call."""
    vectors = sum(counts.get(f"vector_{level}", 0) for level in ("process_hit", "hit", "shared", "takeover"))
    replies = sum(counts.get(f"chat_{level}", 0) for level in ("hit", "shared", "takeover"))
    set_aside = sum(int(number) for name, number in counts.items() if name.startswith("texts_refused/"))
    return Caches(_share(vectors, counts.get("vector_miss", 0)), _share(replies, counts.get("chat_miss", 0)), set_aside)


def _share(found: float, missed: float) -> float | None:
    return found / (found + missed) if found + missed else None


def waiting(picture: Picture, heard: Mapping[str, int], now: float) -> WaitingJob:
    """Return where a job is that is not over, and what it waits for."""
    record = picture.record
    opened = [step for step in picture.steps if not step.is_closed]
    step = next((each for each in opened if each.state == "waiting"), opened[0] if opened else None)
    age = now - record.created
    if step is None:
        return WaitingJob(record.job_id, record.kind, record.collection, age, "", "waits for its end to be written")
    queue = picture.queues.get(step.name, "")
    if step.state == "running":
        why, is_stuck = f"in work, attempt {step.attempt}", False
    elif queue and not heard.get(queue):
        why, is_stuck = f"nobody listens on {queue}", True
    elif step.counts.outages and step.reason:
        why, is_stuck = f"put back, tried again soon: {step.reason}", True
    else:
        why, is_stuck = f"waits for a free slot on {queue}" if queue else "waits for a worker", False
    return WaitingJob(record.job_id, record.kind, record.collection, age, step.name, why, is_stuck)
