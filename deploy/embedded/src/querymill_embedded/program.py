"""Becomes one of the caller's programs: `python -m querymill_embedded.program DATA NAME`."""

import os
import sys
from pathlib import Path

from querymill_embedded.state import read_program


def main() -> None:
    """Take command and environment from the data folder and turn into that program, keeping pid and log."""
    data, name = sys.argv[1:]
    command, environment = read_program(Path(data), name)
    variables = {**os.environ, **environment}
    os.execvpe(command[0], command, variables)  # noqa: S606 - a list, no shell


if __name__ == "__main__":
    main()
