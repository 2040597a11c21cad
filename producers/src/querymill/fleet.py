"""How the fleet is doing, for people: its workers, queues, jobs and model providers. Machines read /metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import redis
from rich.table import Table
from rich.text import Text

from querymill_shared import capabilities, counters
from querymill_shared.board import JobCounts, WorkerLife, lives
from querymill_shared.board.away import BoardLocked
from querymill_shared.board.connections import open_commands
from querymill_shared.board.counts import MINUTES, Ends, joined, read_counts
from querymill_shared.board.queue_work import QueueWork, read_work
from querymill_shared.fleet_history import Minute, read_minutes
from querymill_shared.settings import Settings

#: Refusals of each model that are shown.
REFUSALS = 50
#: A rerank endpoint may serve a model without a name.
UNNAMED = "(no name)"
#: The ends of a job, in the order of the table.
STATES = ("done", "incomplete", "failed", "cancelled", "dead")
#: What failed by a mistake of its caller: it names what is not stored, or breaks a rule that only a worker can check.
MISTAKES = ("not_found", "refused")


def figures(settings: Settings) -> dict[str, Any] | None:
    """Return the fleet's workers, queues, jobs, providers and counters. Return None if the board's server is away.

    Raises:
        BoardLocked: The server does not accept the user or the password.
        redis.exceptions.NoPermissionError: The user may not read the figures.
    """
    try:
        with open_commands(settings.redis_url) as client:
            states = _providers(client)
            counts = read_counts(client)
            alive = [life for life in lives.read_lives(client) if life.beat_age_s < lives.ALIVE_S]
            return {
                "jobs": _jobs(counts),
                "lately": {"minutes": MINUTES, "jobs": _ends(counts.lately)},
                "leases_lost": counts.leases_lost,
                "dead_letters": counts.dead_letters,
                "workers": [_worker(life) for life in alive],
                "queues": _queues(client, alive),
                "providers": states,
                "refusals": _refusals(client),
                "counts": dict(sorted(counters.read(client).items())),
            }
    except (BoardLocked, redis.exceptions.NoPermissionError):
        raise
    except redis.RedisError:
        return None


def minutes_of(settings: Settings, limit: int) -> list[Minute] | None:
    """Return what the fleet did in up to so many last minutes, the earliest first. Return None if the board is away."""
    try:
        with open_commands(settings.redis_url) as client:
            return read_minutes(client, limit)
    except redis.RedisError:
        return None


def minute_figures(minute: Minute) -> dict[str, Any]:
    """Return a minute as JSON has it: the queues at its time, and what was done in the ``passed_s`` seconds before."""
    steps = {name.partition("/")[2]: count for name, count in minute.counted.items() if name.startswith("steps_run/")}
    return {
        "at": minute.at,
        "passed_s": minute.passed_s,
        "queues": [_work(work) | {"steps_run": steps.get(work.queue, 0)} for work in minute.queues],
        "jobs": _jobs(joined(minute.counted)),
        "counts": {
            name: count
            for name, count in sorted(minute.counted.items())
            if name.startswith(("provider_calls/", "provider_tokens/", "processor_ms/"))
        },
    }


def _jobs(counts: JobCounts) -> dict[str, dict[str, Any]]:
    """Return, for each kind, how many jobs were submitted and how they ended, and how long they took (s)."""
    jobs: dict[str, dict[str, Any]] = {kind: {"submitted": 0} | ends for kind, ends in _ends(counts).items()}
    for kind, submitted in counts.submitted.items():
        jobs.setdefault(kind, {"ended": {}, "incomplete": 0})["submitted"] = submitted
    for kind, latency in counts.latency.items():
        jobs[kind]["seconds"] = {
            "mean": round(latency.total_s / latency.jobs, 3),
            # JSON has no infinity: None means longer than the last bound.
            "half_within": _finite(latency.within(0.5)),
            "95_percent_within": _finite(latency.within(0.95)),
        }
    return dict(sorted(jobs.items()))


def _ends(counts: JobCounts | Ends) -> dict[str, dict[str, Any]]:
    """Return, for each kind, how many jobs ended in each state, and how many of the done ones lack a part."""
    jobs: dict[str, dict[str, Any]] = {}
    for (kind, state), ended in counts.ended.items():
        jobs.setdefault(kind, {"ended": {}, "incomplete": counts.incomplete.get(kind, 0)})["ended"][state] = ended
    return jobs


def _finite(seconds: float) -> float | None:
    return None if seconds == float("inf") else seconds


def _queues(client: redis.Redis, alive: Sequence[WorkerLife]) -> list[dict[str, Any]]:
    """Return of each queue its workers and their threads, the steps that wait and run, and the age of the oldest."""
    listening = lives.listening(alive)
    return [_work(work) | {"workers": listening[work.queue]} for work in read_work(client, alive)]


def _work(work: QueueWork) -> dict[str, Any]:
    return {
        "queue": work.queue.value,
        "slots": work.slots,
        "waiting": work.waiting,
        "running": work.running,
        "oldest_s": None if work.oldest_s is None else round(work.oldest_s, 1),
    }


def _providers(client: redis.Redis) -> list[dict[str, Any]]:
    """Return the state of each provider's account, and what was learned of its model since when, at each address."""
    learned: dict[str, list[dict[str, Any]]] = {}
    for found in capabilities.findings(client):
        learned.setdefault(found.model, []).append({"what": found.what, "address": found.address, "at": found.at})
    return [asdict(account) | {"learned": learned.get(account.model, [])} for account in counters.accounts(client)]


def _refusals(client: redis.Redis) -> dict[str, list[dict[str, Any]]]:
    """Return the last calls that each model's provider refused, the latest first."""
    found = counters.refusals(client)
    return {model: [asdict(refusal) for refusal in refused[:REFUSALS]] for model, refused in found.items() if refused}


def _worker(life: WorkerLife) -> dict[str, Any]:
    return {
        "name": life.name,
        "queues": list(life.queues),
        "slots": life.slots,
        "busy": life.busy,
        "beat_age_s": round(life.beat_age_s, 1),
        "host": life.host,
        "pid": life.pid,
        "started": life.started,
        "release": life.release,
    }


def tables(fleet: Mapping[str, Any]) -> list[Table]:
    """Format the figures as tables: workers, queues, jobs, providers, then what was granted, cached and shared."""
    providers = Table("provider's model", "address", "breaker", "failures in a row", "paused", "learned", box=None)
    for state in (state for state in fleet["providers"] if not state.get("is_idle")):
        style = "green" if state["breaker"] == "closed" else "red"
        paused = f"{state['paused_s']:.1f} s" if state["paused_s"] else "no"
        learned = "; ".join(dict.fromkeys(each["what"] for each in state.get("learned", ())))
        providers.add_row(
            state["model"] or UNNAMED, state.get("address", ""), Text(state["breaker"], style), str(state["failures"]),
            paused, learned,
        )  # fmt: skip
    counted = Table("calls to providers", "", box=None)
    for said, value in _summary(fleet["counts"]):
        counted.add_row(said, value)
    workers, queues = _table_of_workers(fleet["workers"]), _table_of_queues(fleet["queues"])
    return [workers, queues, _table_of_jobs(fleet), providers, *_tables_of_refusals(fleet), counted]


def _tables_of_refusals(fleet: Mapping[str, Any]) -> list[Table]:
    """Return a table of what each model's provider said last instead of an answer, if it said anything."""
    last = {model: refused[0] for model, refused in fleet.get("refusals", {}).items() if refused}
    table = Table("provider's model", "address", "last refusal", "at", box=None)
    for model, refusal in last.items():
        at = datetime.fromtimestamp(refusal["at"], UTC).isoformat(" ", "seconds")
        table.add_row(model or UNNAMED, refusal.get("address", ""), Text(refusal["what"]), at)
    return [table] if last else []


def _table_of_jobs(fleet: Mapping[str, Any]) -> Table:
    shown = [*STATES, *(state for state in MISTAKES if any(state in job["ended"] for job in fleet["jobs"].values()))]
    names = [state.replace("_", " ") for state in shown]
    table = Table("jobs", "submitted", *names, "half within", "95 % within", box=None)
    for kind, job in fleet["jobs"].items():
        counted = job["ended"] | {"incomplete": job.get("incomplete", 0)}
        ends = [f"{counted.get(state, 0):,}" for state in shown]
        took = job.get("seconds")
        within = [_seconds(took[name]) for name in ("half_within", "95_percent_within")] if took else ["", ""]
        table.add_row(kind, f"{job['submitted']:,}", *ends, *within)
    lost, dead = fleet["leases_lost"], fleet["dead_letters"]
    table.caption = (
        f"incomplete jobs are among those done · steps taken from dead workers: {lost:,} · dead letters: {dead:,}"
    )
    table.caption_justify = "left"
    return table


def _seconds(bound: float | None) -> str:
    return "longer" if bound is None else f"{bound:g} s"


def _table_of_workers(workers: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("worker", "slots", "pid", "queues", box=None)
    for worker in workers:
        table.add_row(worker["name"], str(worker["slots"]), str(worker["pid"]), ", ".join(worker["queues"]))
    if not workers:
        table.add_row(Text("no worker is alive", "red"), "", "", "")
    return table


def _table_of_queues(queues: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("queue", "workers", "slots", "running", "waiting", "oldest", box=None)
    for state in queues:
        workers = Text(str(state["workers"]), "green" if state["workers"] else "red")
        oldest = "" if state["oldest_s"] is None else f"{state['oldest_s']:,.1f} s"
        numbers = [f"{state[name]:,}" for name in ("slots", "running", "waiting")]
        table.add_row(state["queue"], workers, *numbers, oldest)
    return table


def _summary(counts: Mapping[str, float]) -> list[tuple[str, str]]:
    granted, waited = _total(counts, "budget_granted"), _total(counts, "budget_waited_ms")
    requests = _total(counts, "batch_size")
    rows = [
        ("granted", f"{granted:,.0f}, after {waited / max(granted, 1):,.0f} ms on average"),
        ("refused: no call could start in time", f"{_total(counts, 'budget_refused'):,.0f}"),
        ("answered / failed / 429", " / ".join(f"{counts.get(f'provider_calls/{how}', 0):,.0f}" for how in _ENDS)),
        (
            "tokens refunded / charged after",
            f"{_plain(counts, 'tokens_refunded')} / {_plain(counts, 'tokens_charged_after')}",
        ),
        ("texts per embedding request", f"{counts.get('batched_texts', 0) / max(requests, 1):,.1f}"),
        ("breaker opened / pauses", f"{_plain(counts, 'breaker_opened')} / {_plain(counts, 'budget_pauses')}"),
    ]
    for sort, own in (("vector", "vector_process_hit"), ("chat", None)):
        levels = [f"{_plain(counts, f'{sort}_{what}')} {said}" for what, said in _LEVELS]
        process = [f"{_plain(counts, own)} in the process"] if own else []
        rows.append((f"{sort}s found", ", ".join(process + levels)))
    return rows


_ENDS = ("answered", "failed", "limited")
_LEVELS = (("hit", "in the fleet's cache"), ("shared", "in flight"), ("takeover", "taken over"), ("miss", "asked for"))


def _total(counts: Mapping[str, float], name: str) -> float:
    return sum(count for key, count in counts.items() if key.startswith(f"{name}/"))


def _plain(counts: Mapping[str, float], name: str) -> str:
    return f"{counts.get(name, 0):,.0f}"
