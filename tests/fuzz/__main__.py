"""Fuzz every reader of foreign bytes by coverage: ``python -m tests.fuzz [--door NAME] [--seconds N]``.

The seconds are shared by the doors; ``make nightly`` gives them an hour. An input that crashes a door (an error that is
not among its declared ones, 20 seconds, 2 GB) stays in ``.fuzz/`` and is repeated by ``--door NAME --input FILE``.
Coverage comes from atheris, which `make nightly` installs. Some systems that Querymill runs on have no wheel of it, so
no other group of dependencies has it.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.fuzz.doors import Door

#: Where inputs that crash a door are written.
CRASHES: Final = Path(".fuzz")
#: What one input may take.
TIMEOUT_S: Final = 20
MEMORY_MB: Final = 2_048
MAX_BYTES: Final = 65_536
#: How long one door is fuzzed at least: less finds nothing.
LEAST_S: Final = 5
#: Whose branches guide the search: our own, and the engines that are written in Python.
_SEEN: Final = (
    "querymill", "querymill_shared", "querymill_histories", "querymill_reading", "querymill_workers.jobs",
    "docx", "pptx", "openpyxl", "striprtf", "oxmsg",
)  # fmt: skip
_RUNS: Final = re.compile(r"number_of_executed_units:\s*(\d+)")
_WHY: Final = re.compile(
    r"^(?:\w[\w.]*(?:Error|Exception|Interrupt|Unreadable|Problem)\b.*|.*ERROR: libFuzzer: .*)$", re.M
)
_OUTCOMES: Final = {0: "nothing", 1: "an error", 70: "too slow", 71: "too much memory", 77: "a crash"}


def main() -> int:
    """Fuzz; return 1 if an input crashed a door."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz every reader of foreign bytes.")
    parser.add_argument("--door", action="append", default=[], help="a door, or the beginning of the names of several")
    parser.add_argument("--seconds", type=int, default=3_600, help="how long in all (default: an hour)")
    parser.add_argument("--input", type=Path, help="have one door read this file, without fuzzing")
    parser.add_argument("--list", action="store_true", help="list the doors")
    asked = parser.parse_args()
    can_fuzz = find_spec("atheris") is not None and not asked.list and asked.input is None
    doors = _seen_doors() if can_fuzz else _doors()
    chosen = [door for name, door in doors.items() if not asked.door or name.startswith(tuple(asked.door))]
    if asked.list or not chosen:
        print(*doors, sep="\n")
        return 0 if asked.list else 2
    if asked.input is not None:
        doors[asked.door[0]].take(asked.input.read_bytes())
        return 0
    if not can_fuzz:
        print("nothing is fuzzed: atheris is not installed; `make .venv/fuzz` does that where it has a wheel")
        return 0
    seconds = max(LEAST_S, asked.seconds // len(chosen))
    lines = [fuzz(door, seconds) for door in chosen]
    print(json.dumps({"doors": len(lines), "crashed": [line["door"] for line in lines if line["code"]]}))
    return 1 if any(line["code"] for line in lines) else 0


def _doors() -> "dict[str, Door]":
    from tests.fuzz.doors import all_doors  # imported here: atheris sees only what is imported under its eyes

    return all_doors()


def _seen_doors() -> "dict[str, Door]":
    import atheris

    with atheris.instrument_imports(include=list(_SEEN)):
        return _doors()


def fuzz(door: "Door", seconds: int) -> dict[str, Any]:
    """Fuzz a door in a fork of this process, which has imported everything. Return and print what came of it."""
    CRASHES.mkdir(exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as corpus, tempfile.TemporaryFile() as log:
        for number, seed in enumerate(door.seeds()):
            Path(corpus, str(number)).write_bytes(seed)
        child = os.fork()
        if not child:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            _fuzz_here(door, corpus, seconds)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        said = log.read().decode(errors="replace")
    runs, why = _RUNS.search(said), _WHY.findall(said)
    line = {
        "door": door.name,
        "seconds": round(time.monotonic() - began),
        "runs": int(runs[1]) if runs else 0,
        "found": _OUTCOMES.get(code, f"ended with code {code}"),
        "why": why[0][:300] if why and code else "",
        "code": code,
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)
    if code not in _OUTCOMES:
        print(said[-2_000:], file=sys.stderr)
    return line


def _fuzz_here(door: "Door", corpus: str, seconds: int) -> None:
    """Fuzz until the time is over or an input crashes the door. Then this process ends."""
    import atheris

    def take(content: bytes) -> None:
        try:
            door.take(content)
        except BaseException:
            digest = hashlib.sha256(content).hexdigest()[:16]
            (CRASHES / f"{door.name}-error-{digest}").write_bytes(content)
            raise

    options = [
        f"-max_total_time={seconds}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={CRASHES}/{door.name}-", "-print_final_stats=1",
    ]  # fmt: skip
    try:
        atheris.Setup([sys.argv[0], corpus, *options], take)
        atheris.Fuzz()
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
