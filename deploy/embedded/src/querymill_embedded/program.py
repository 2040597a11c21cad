"""Becomes one of the caller's programs: `python -I program.py PROGRAMS_FILE NAME`.

Run as a file and without the package: the time to import that would count as time in which the program stayed up.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Take command and environment from the file and turn into that program, keeping pid and log."""
    path, name = sys.argv[1:]
    program = json.loads(Path(path).read_text(encoding="utf-8"))[name]
    command, variables = program["command"], {**os.environ, **program["environment"]}
    try:
        os.execvpe(command[0], command, variables)  # noqa: S606 - a list, no shell
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main()
