"""One door, fuzzed in this process: ``python -m tests.fuzz.one NAME CORPUS [options of libFuzzer]``."""

import sys
from contextlib import suppress
from typing import Final

import atheris

#: Whose branches guide the search: our own, and the engines that are written in Python.
_SEEN: Final = (
    "querymill", "querymill_shared", "querymill_histories", "querymill_reading", "querymill_workers.jobs",
    "docx", "pptx", "openpyxl", "striprtf", "oxmsg",
)  # fmt: skip


def main() -> None:
    """Fuzz until the time is over, or an input crashes the door."""
    with atheris.instrument_imports(include=list(_SEEN)):
        from tests.fuzz.doors import all_doors  # imported here: only what is imported now is seen
    name, *options = sys.argv[1:]
    door = all_doors()[name]

    def enter(content: bytes) -> None:
        with suppress(*door.declared):
            door.enter(content)

    atheris.Setup([sys.argv[0], *options], enter)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
