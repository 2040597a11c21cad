"""What runs of the command found, and for which state of the code."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import querymill
import querymill_shared
import querymill_workers

_HERE: Final = Path(__file__).parent
RUNS: Final = _HERE / "runs.jsonl"
#: The files here that tell of schedules only: none depends on them.
_TELLING: Final = ("__main__.py", "page.py", "runs.py")
_CODE: Final = (".py", ".lua")


@dataclass(frozen=True)
class Run:
    """The schedules of some seeds: from ``first`` up to ``end``, which is not one of them."""

    code: str
    first: int
    end: int
    calls: int
    failed: tuple[int, ...]
    #: Seconds of a processor.
    cpu_s: float
    commit: str
    day: str
    machine: str

    @property
    def seeds(self) -> range:
        """The seeds that were run."""
        return range(self.first, self.end)


def by_code(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs of each state of the code, in the order of their first ones."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.code, []).append(run)
    return list(found.values())


def joined(ranges: Iterable[range]) -> list[range]:
    """Return the same numbers in as few ranges as there can be: 0 to 9 and 5 to 19 are 0 to 19."""
    found = list[range]()
    for each in sorted(ranges, key=lambda each: each.start):
        if found and each.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, each.stop))
        else:
            found.append(each)
    return found


def present_code() -> str:
    """Return a digest of all that a schedule may depend on: the product, and the simulation."""
    return digest_of(code_files())


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of what files hold and of their names, in this order."""
    digest = hashlib.sha1(usedforsecurity=False)
    for file in files:
        digest.update(f"{file.name} ".encode() + hashlib.sha1(file.read_bytes(), usedforsecurity=False).digest())
    return digest.hexdigest()[:10]


def code_files() -> Iterator[Path]:
    """Return the files of the product and of the simulation, but for those that no schedule depends on."""
    for package in (querymill_shared, querymill_workers, querymill):
        folder = Path(str(package.__file__)).parent
        yield from sorted(each for each in folder.rglob("*") if each.suffix in _CODE)
    here = (each for each in _HERE.iterdir() if each.suffix in _CODE)
    yield from sorted(each for each in here if each.name not in _TELLING and not each.name.startswith("test_"))
