"""Replace this process with one of the caller's programs: `python -I program.py PROGRAMS_FILE NAME`.

This runs as a file, without importing the package, because the import would count as time that the program ran.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Read command and environment from the file and execute the program, with the same pid and log."""
    path, name = sys.argv[1:]
    program = json.loads(Path(path).read_text(encoding="utf-8"))[name]
    command, variables = program["command"], {**os.environ, **program["environment"]}
    try:
        os.execvpe(command[0], command, variables)  # noqa: S606 - a list, no shell
    except OSError as error:
        sys.exit(f"{command[0]}: cannot be run ({error.strerror})")


if __name__ == "__main__":
    main()
