"""Write the conversations of chat exports and coding assistants as lines of JSON, one for each session.

The format of a file is recognised by its first bytes. What cannot be read is named on standard error.
Run it in this folder of a checkout:
  pip install ..
  python write_lines.py conversations.json ~/.claude/projects > sessions.jsonl
"""

import json
import sys
from pathlib import Path

from querymill_histories import Session, find, read_sessions, rows_of


def main(paths: list[str]) -> int:
    found = find([Path(path) for path in paths])
    bad = [f"{unread.place}: {unread.reason}" for unread in found.unread]
    bad += [f"{path}: not recognised" for path in found.unknown]
    for format_name, read in read_sessions(found):
        if isinstance(read, Session):
            for row in rows_of(read, format_name, tools="summary"):
                print(json.dumps(row, ensure_ascii=False, default=str))
        else:
            bad.append(f"{read.place}: {read.reason}")
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
