"""One pure checker for each promise: it reads a history, and returns what breaks the promise.

Each breach says how the fault table counts it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.faults.histories.operations import ENDS, OVER, Operation, of_kind
from tests.faults.histories.registers import TooManyStates, access_of, is_linearisable

#: Why a request may be refused, though its caller did nothing wrong.
REFUSALS: Final = frozenset({"Overloaded", "Unavailable", "UnknownCollection"})
#: What is cut by its deadline has had this share of it at least: a branch of a search has half.
LEAST_SHARE: Final = 0.25
#: So many workers must have died of a step before it is given up.
MOST_ATTEMPTS: Final = 4
#: "gone": the board lost it with its data, and whoever waited was told so.
Count = Literal["lost", "gone", "doubled", "wrong", "stuck"]
History = Sequence[Operation]


@dataclass(frozen=True, slots=True)
class Breach:
    """What breaks a promise: the job or document, how it is counted, and why, in words."""

    about: str
    count: Count
    why: str


def accepted_jobs(history: History) -> dict[str, Operation]:
    """Return the submissions that were accepted, by the job."""
    submitted = of_kind(history, "submit")
    return {operation.seen["job_id"]: operation for operation in reversed(submitted) if "job_id" in operation.seen}


def check_ends(history: History) -> list[Breach]:
    """An accepted job ends, a durable one not by failing, and whoever waits for it sees the end.

    When a document is dropped, jobs of its collection go that have ended and may hold its text. Their trails stay for
    some time, and tell how they ended: a caller that finds its job gone reads it, and so does the one who looks back.
    """
    last = {operation.argument["job_id"]: operation for operation in of_kind(history, "last")}
    seen, dropping = _ends_seen(history), _where_something_is_dropped(history)
    trails = {end.argument["job_id"]: end.seen.get("trail") for end in of_kind(history, "end")}
    breaches = []
    for job_id, submitted in accepted_jobs(history).items():
        held = last[job_id].seen if job_id in last else {"state": "unknown"}
        state, known = held["state"], seen[job_id] & OVER
        trail = held.get("trail") or trails.get(job_id)
        was_dropped = state == "unknown" and trail in OVER and submitted.argument["collection"] in dropping
        # A later drop of its document takes a dead one from the list, too.
        if was_dropped and (not known or trail == "dead"):
            continue
        if state == "unknown" and not known:
            was_told = "unknown" in seen[job_id]
            why = "the board lost it, and its caller was told" if was_told else "it is gone, and nobody saw it end"
            breaches.append(Breach(job_id, "gone" if was_told else "lost", why))
        elif state != "unknown" and state not in OVER:
            breaches.append(Breach(job_id, "stuck", f"it is {state} when all is over"))
        # A dead one is kept for a person, and counted as dead. Its caller is told that it failed.
        elif submitted.argument["durable"] and state != "dead" and "failed" in {state, *known}:
            breaches.append(Breach(job_id, "lost", f"durable work failed: {_reason(history, job_id)}"))
    return breaches


def _where_something_is_dropped(history: History) -> set[str]:
    drops = [each for each in of_kind(history, "submit") if each.argument["job"] == "drop_documents"]
    return {each.argument["collection"] for each in drops if "job_id" in each.seen}


def _ends_seen(history: History) -> Mapping[str, set[str]]:
    seen: dict[str, set[str]] = defaultdict(set)
    for operation in of_kind(history, "end"):
        seen[operation.argument["job_id"]].add(operation.seen["state"])
    for operation in of_kind(history, "events"):
        seen[operation.argument["job_id"]].update(ENDS.intersection(operation.seen["types"]))
    return seen


def _reason(history: History, job_id: str) -> str:
    reasons = [end.seen.get("reason") for end in of_kind(history, "end") if end.argument["job_id"] == job_id]
    return str(next(filter(None, reasons), "no reason"))


def check_one_end(history: History) -> list[Breach]:
    """A job ends once, and everybody sees the same end."""
    breaches = []
    for operation in (*of_kind(history, "events"), *of_kind(history, "last")):
        job_id, ends = operation.argument["job_id"], [kind for kind in operation.seen["types"] if kind in ENDS]
        if len(ends) > 1:
            breaches.append(Breach(job_id, "doubled", f"{operation.kind}: it ended as {', then '.join(ends)}"))
    for job_id, states in _ends_seen(history).items():
        # A dead job's stream ends as one that failed.
        if len({"failed" if state == "dead" else state for state in states & OVER}) > 1:
            breaches.append(Breach(job_id, "doubled", f"some saw it end as {' and others as '.join(sorted(states))}"))
    return breaches


def check_done_found(history: History) -> list[Breach]:
    """What a done write stored is found by its words, once, until something replaces it."""
    breaches, writes = [], _writes(history)
    for find in of_kind(history, "find"):
        document, value = find.argument["document"], find.argument["value"]
        shown = find.seen["values"].get(value, 0)
        if shown > 1:
            breaches.append(Breach(document, "doubled", f"{value} is shown {shown} times"))
        written = [write for write in writes[document] if write.argument["value"] == value]
        stood = any(write.seen.get("state") == "done" and write.end < find.begin for write in written) and not any(
            other.end > min(write.begin for write in written) and other.begin < find.end
            for other in writes[document]
            if other not in written
        )
        if stood and not shown and find.seen["complete"]:
            breaches.append(Breach(document, "lost", f"{value} is done and not found"))
    return breaches


def check_forgotten(history: History) -> list[Breach]:
    """What was replaced or dropped before a search began is never found by it."""
    breaches, writes = [], _writes(history)
    for find in of_kind(history, "find"):
        document = find.argument["document"]
        for value in find.seen["values"]:
            if after := _successor(writes[document], value, before=find.begin):
                how = "dropped" if after.argument["value"] is None else "replaced"
                breaches.append(Breach(document, "wrong", f"{value} is found after it was {how}"))
    return breaches


def _successor(writes: Iterable[Operation], value: str, *, before: float) -> Operation | None:
    """Return a done write of the document that certainly came after all writes of a value, and was over by then."""
    written = [write for write in writes if write.argument["value"] == value]
    if not written:
        return None
    last = max(write.end for write in written)
    later = (write for write in writes if write.begin > last and write.end < before and write not in written)
    return next((write for write in later if write.seen.get("state") == "done"), None)


def _writes(history: History) -> Mapping[str, list[Operation]]:
    writes: dict[str, list[Operation]] = defaultdict(list)
    for write in of_kind(history, "write"):
        writes[write.argument["document"]].append(write)
    return writes


def check_events(history: History) -> list[Breach]:
    """A follower sees each event once, in order, and all from the one it named."""
    whole = {each.argument["job_id"]: each.seen["ids"] for each in of_kind(history, "last") if each.seen["ids"]}
    breaches = []
    for operation in of_kind(history, "events"):
        job_id, ids = operation.argument["job_id"], operation.seen["ids"]
        numbers = [_number(event_id) for event_id in ids]
        if len(set(ids)) < len(ids):
            breaches.append(Breach(job_id, "doubled", "an event came twice"))
        elif numbers != sorted(numbers):
            breaches.append(Breach(job_id, "wrong", "events came out of order"))
        elif job_id in whole and _lacks_some(ids, whole[job_id], operation.argument["after"]):
            breaches.append(Breach(job_id, "wrong", f"the events {ids} are not whole: {whole[job_id]}"))
    return breaches


def _lacks_some(ids: Sequence[str], whole: Sequence[str], after: str | None) -> bool:
    """Whether a follower misses an event that the board holds up to the last one that it saw."""
    if not ids:
        return False
    first, last = _number(after or "0-0"), _number(ids[-1])
    wanted = [event_id for event_id in whole if first < _number(event_id) <= last]
    return not set(wanted) <= set(ids)


def _number(event_id: str) -> tuple[int, int]:
    milliseconds, _, count = event_id.partition("-")
    return int(milliseconds), int(count)


def check_idempotency(history: History) -> list[Breach]:
    """One key leads to one job, and is refused for another body."""
    keyed: dict[str, list[Operation]] = defaultdict(list)
    seen = _ends_seen(history)
    for job_id, operation in accepted_jobs(history).items():
        # Whoever is told that a job is gone submits again under the same key.
        if "unknown" not in seen[job_id]:
            keyed[operation.argument["key"]].append(operation)
    breaches = []
    for key, operations in keyed.items():
        if len({each.argument["body"] for each in operations}) > 1:
            breaches.append(Breach(key, "wrong", "one key was accepted for two bodies"))
        elif len(operations) > 1:
            breaches.append(Breach(key, "doubled", f"one key led to {len(operations)} jobs"))
    return breaches


def check_updates(history: History) -> list[Breach]:
    """Reads and writes of one document are linearisable."""
    documents: dict[str, list[Operation]] = defaultdict(list)
    for operation in (*of_kind(history, "write"), *of_kind(history, "read")):
        documents[operation.argument["document"]].append(operation)
    breaches = []
    for document, operations in documents.items():
        try:
            if not is_linearisable([access_of(operation) for operation in operations]):
                breaches.append(Breach(document, "wrong", "no order of its writes explains what was read"))
        except TooManyStates as error:
            breaches.append(Breach(document, "wrong", f"nobody can tell: {error}"))
    return breaches


def check_answers(history: History) -> list[Breach]:
    """A complete result is the one that is given without any fault."""
    return [
        Breach(str(each.argument["question"]), "wrong", f"{each.seen['given']} instead of {each.argument['expected']}")
        for each in of_kind(history, "answer")
        if each.seen["complete"] and each.seen["given"] != each.argument["expected"]
    ]


def check_errors(history: History) -> list[Breach]:
    """A client that is refused, or waits, gets an error of the client's own, and never what a driver raised."""
    said = [(each.argument["key"], each.seen.get("refused")) for each in of_kind(history, "submit")]
    said += [(each.argument["job_id"], each.seen["state"]) for each in of_kind(history, "end")]
    known = REFUSALS | OVER | {"unknown", "running", "IdempotencyConflict", None}
    return [Breach(about, "wrong", f"{told}") for about, told in said if told not in known]


def check_cuts(history: History) -> list[Breach]:
    """What says that its deadline cut it, or that a step is lost, has had much of its deadline, or all attempts."""
    submitted = accepted_jobs(history)
    attempts = {each.argument["job_id"]: each.seen.get("attempts", {}) for each in of_kind(history, "last")}
    breaches = []
    for end in of_kind(history, "end"):
        job_id = end.argument["job_id"]
        deadline_s = submitted[job_id].argument.get("deadline") if job_id in submitted else None
        if deadline_s is None or (took_s := end.end - submitted[job_id].begin) >= LEAST_SHARE * deadline_s:
            continue
        told = [f"{step} is lost" for step in end.seen.get("lost", ()) if _lost_early(step, attempts.get(job_id, {}))]
        if "deadline" in (*end.seen.get("degraded", ()), end.seen.get("code")):
            told.append("its deadline cut it")
        breaches += [
            Breach(job_id, "wrong", f"{why}, it says, after {took_s:.1f} of {deadline_s:.0f} s") for why in told
        ]
    return breaches


def _lost_early(step: str, attempts: Mapping[str, int]) -> bool:
    return attempts.get(step, MOST_ATTEMPTS) < MOST_ATTEMPTS


#: The checkers by the promises that they check.
PROMISES: Final[Mapping[str, Callable[[History], list[Breach]]]] = {
    "an accepted job ends": check_ends,
    "a job ends once": check_one_end,
    "what is done is found": check_done_found,
    "what is forgotten is never found": check_forgotten,
    "events come once, in order and whole": check_events,
    "one key leads to one job": check_idempotency,
    "updates of a document are linearisable": check_updates,
    "a complete result is right": check_answers,
    "nothing is cut before its time": check_cuts,
    "errors are the client's own": check_errors,
}


def breaches_of(history: History) -> dict[str, list[Breach]]:
    """Return what breaks each promise."""
    return {promise: check(history) for promise, check in PROMISES.items()}
