"""Wait until every part and program is ready, and fail as soon as one of them cannot start."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from querymill_embedded.errors import dead_part
from querymill_embedded.parts import StackPart
from querymill_embedded.passwords import passwords_of
from querymill_embedded.probes import answers
from querymill_embedded.supervisor import ProcessReport, ProcessState, SupervisorClient, log_path

_PAUSE_S = 0.05
#: One failed start may be an accident, for example because a predecessor still holds memory. Two are an error.
_FAILED_STARTS = 2


def await_ready(
    client: SupervisorClient,
    *,
    ports: Mapping[StackPart, int],
    programs: Iterable[str],
    data: Path,
    timeout_s: float,
) -> None:
    """Return once every part passes its probe and every program has run for its `settle_s`.

    Raises:
        StackError: a part or program does not start; the message names it and ends with its log.
    """
    waiting: dict[str, StackPart | None] = {**{part: part for part in ports}, **dict.fromkeys(programs)}
    passwords = passwords_of(ports, data)
    failures: dict[str, set[int]] = defaultdict(set)
    deadline = time.monotonic() + timeout_s
    while True:
        reports = client.processes()
        waiting = {name: part for name, part in waiting.items() if not _is_ready(reports[name], part, ports, passwords)}
        if not waiting:
            return
        for name in waiting:
            _check_failures(reports[name], failures[name], data)
        if time.monotonic() > deadline:
            name = next(iter(waiting))
            raise dead_part(name, f"not ready after {timeout_s:.0f} s", log_path(data, name))
        time.sleep(_PAUSE_S)


def _is_ready(
    report: ProcessReport, part: StackPart | None, ports: Mapping[StackPart, int], passwords: Mapping[StackPart, str]
) -> bool:
    if part is None:
        return report.state is ProcessState.RUNNING
    # If the part does not run, another program may be serving its port.
    runs = report.state in (ProcessState.STARTING, ProcessState.RUNNING)
    return runs and answers(part, ports[part], passwords.get(part))


def _check_failures(report: ProcessReport, starts: set[int], data: Path) -> None:
    if report.state is ProcessState.BACKOFF:
        starts.add(report.started)
    if report.state is ProcessState.FATAL or len(starts) >= _FAILED_STARTS:
        raise dead_part(report.name, report.said, log_path(data, report.name))
