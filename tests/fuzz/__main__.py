"""Fuzz every reader of foreign bytes by coverage: ``python -m tests.fuzz [--door NAME] [--seconds N]``.

The seconds are shared by the doors; ``make nightly`` gives them an hour. An input that crashes a door (an error that is
not among its declared ones, 20 seconds, 2 GB) stays in ``.fuzz/`` and is repeated by ``--door NAME --input FILE``.
Coverage comes from atheris, which `make nightly` installs. Some systems that Querymill runs on have no wheel of it, so
no other group of dependencies has it.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.fuzz.doors import Door, all_doors

#: Where inputs that crash a door are written.
CRASHES: Final = Path(".fuzz")
#: What one input may take.
TIMEOUT_S: Final = 20
MEMORY_MB: Final = 2_048
MAX_BYTES: Final = 65_536
#: How long one door is fuzzed at least: less finds nothing.
LEAST_S: Final = 5
_RUNS: Final = re.compile(r"number_of_executed_units:\s*(\d+)")
_WHY: Final = re.compile(
    r"^(?:\w[\w.]*(?:Error|Exception|Interrupt|Unreadable|Problem)\b.*|.*ERROR: libFuzzer: .*)$", re.M
)
_OUTCOMES: Final = {0: "nothing", 70: "too slow", 71: "too much memory", 77: "an error"}


def main() -> int:
    """Fuzz; return 1 if an input crashed a door."""
    doors = all_doors()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz every reader of foreign bytes.")
    parser.add_argument("--door", action="append", default=[], help="a door, or the beginning of the names of several")
    parser.add_argument("--seconds", type=int, default=3_600, help="how long in all (default: an hour)")
    parser.add_argument("--input", type=Path, help="have one door read this file, without fuzzing")
    parser.add_argument("--list", action="store_true", help="list the doors")
    asked = parser.parse_args()
    chosen = [door for name, door in doors.items() if not asked.door or name.startswith(tuple(asked.door))]
    if asked.list or not chosen:
        print(*doors, sep="\n")
        return 0 if asked.list else 2
    if asked.input is not None:
        door = doors[asked.door[0]]
        enter(door, asked.input.read_bytes())
        return 0
    if find_spec("atheris") is None:
        print("nothing is fuzzed: atheris is not installed; `make .venv/fuzz` does that where it has a wheel")
        return 0
    seconds = max(LEAST_S, asked.seconds // len(chosen))
    lines = [fuzz(door, seconds) for door in chosen]
    print(json.dumps({"doors": len(lines), "crashed": [line["door"] for line in lines if line["code"]]}))
    return 1 if any(line["code"] for line in lines) else 0


def enter(door: Door, content: bytes) -> None:
    """Have a door read something. What is not declared of it is raised."""
    with suppress(*door.declared):
        door.enter(content)


def fuzz(door: Door, seconds: int) -> dict[str, Any]:
    """Fuzz a door in a process of its own. Return and print what came of it."""
    CRASHES.mkdir(exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(door.seeds()):
            Path(corpus, str(number)).write_bytes(seed)
        limits = [f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={MAX_BYTES}"]
        ended = subprocess.run(
            [
                sys.executable, "-m", "tests.fuzz.one", door.name, corpus, f"-max_total_time={seconds}", *limits,
                f"-artifact_prefix={CRASHES}/{door.name}-", "-print_final_stats=1",
            ],
            capture_output=True, text=True, errors="replace", check=False, timeout=seconds + 600,
        )  # fmt: skip
    runs = _RUNS.search(ended.stderr)
    why = _WHY.findall(ended.stdout + ended.stderr)
    line = {
        "door": door.name,
        "seconds": round(time.monotonic() - began),
        "runs": int(runs[1]) if runs else 0,
        "found": _OUTCOMES.get(ended.returncode, f"ended with code {ended.returncode}"),
        "why": why[0][:300] if why and ended.returncode else "",
        "code": ended.returncode,
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)
    if ended.returncode not in _OUTCOMES or not runs:
        print(ended.stderr[-2_000:], file=sys.stderr)
    return line


if __name__ == "__main__":
    sys.exit(main())
