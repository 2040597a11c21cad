"""Compare what is read of a folder of sample histories with its expectations, and print a table.

``python -m tests.quality.measure_histories FOLDER``: each folder below it holds files as a tool writes them, and an
``expectations.json`` that says how many messages a person would count, and what must not appear.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from querymill_histories.finding import find, read_sessions
from querymill_histories.rows import rows_of
from querymill_histories.session import Session

Row = dict[str, Any]


def sessions_in(path: Path) -> tuple[list[Row], list[str]]:
    """Read a file or folder; returns its sessions, and what could not be read."""
    found = find([path])
    rows: list[Row] = []
    bad = [f"{unread.place}: {unread.reason}" for unread in found.unread]
    bad += [f"{unknown.name}: not recognised" for unknown in found.unknown if not path.is_dir()]
    for name, read in read_sessions(found):
        if isinstance(read, Session):
            rows += rows_of(read, name)
        else:
            bad.append(f"{read.place}: {read.reason}")
    return rows, bad


def counts(rows: Sequence[Row], role: str) -> int:
    """Count the messages of a role."""
    return sum(message["role"] == role for row in rows for message in row["messages"])


def turns(rows: Sequence[Row]) -> int:
    """Count the answers, joined for each message of a user."""
    found = 0
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        found += sum(role == "assistant" and (not i or roles[i - 1] != role) for i, role in enumerate(roles))
    return found


def mistakes(expected: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield each expectation that is not met."""
    texts = [message["text"] for row in rows for message in row["messages"]]
    if "sessions" in expected and len(rows) != expected["sessions"]:
        yield f"{len(rows)} sessions, expected {expected['sessions']}"
    ids = expected.get("session_ids") or ([expected["session_id"]] if expected.get("session_id") else [])
    if ids and {row["session_id"] for row in rows} != set(ids):
        yield f"ids {[row['session_id'] for row in rows]}"
    titles = expected.get("titles") or expected.get("session_names")
    titles = titles or [title for key in ("title", "name", "subject") if (title := expected.get(key))]
    names = [str(row.get("name")) for row in rows]
    if titles and not all(any(title == name or name in title for name in names) for title in titles):
        yield f"titles {names}"
    yield from wrong_counts(expected.get("messages") or {}, rows)
    for forbidden in expected.get("must_not_appear", ()):
        if any(forbidden in text for text in texts):
            yield f"{forbidden!r} appears"
    yield from wrong_texts(expected, rows)


def wrong_counts(wanted: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the numbers of messages that differ."""
    for key, number in wanted.items():
        named = [row for row in rows if key in (row["session_id"], row.get("name"))]
        if isinstance(number, dict):
            yield from wrong_counts(number, named)
        elif named:
            total = sum(len(row["messages"]) for row in named)
            if str(total) not in str(number):
                yield f"{key}: {total} messages, expected {number}"
        elif key == "user" and counts(rows, "user") != number:
            yield f"{counts(rows, 'user')} of the user, expected {number}"
        elif key == "total" and sum(len(row["messages"]) for row in rows) != number:
            yield f"{sum(len(row['messages']) for row in rows)} messages, expected {number}"
    blocks = wanted.get("assistant_blocks")
    accepted = {blocks, wanted.get("assistant_turns", blocks)}
    if blocks is not None and counts(rows, "assistant") not in accepted:
        yield f"{counts(rows, 'assistant')} of the assistant, expected one of {accepted}"


def wrong_texts(expected: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the texts that differ."""
    users = [m["text"] for row in rows for m in row["messages"] if m["role"] == "user"]
    every = [m["text"] for row in rows for m in row["messages"]]
    for key, texts in (("first_user_starts_with", users), ("first_starts_with", every), ("first", every)):
        wanted = expected.get(key)
        wanted = next(iter(wanted.values())) if isinstance(wanted, dict) else wanted
        if wanted and not any(text.startswith(wanted) for text in texts):
            yield f"{key}: {texts[:1]}"
    last = expected.get("last")
    ends = [last] if isinstance(last, str) else [(last or {}).get(key) for key in ("starts_with", "contains")]
    yield from (f"last: {every[-1:]}" for end in ends if end and end not in (every or [""])[-1])
    yield from wrong_start(expected.get("started_at"), rows)


def wrong_start(expected: object, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the first time if it differs."""
    try:
        wanted = datetime.fromisoformat(str(expected))
    except ValueError:
        return
    at = min((row["started_at"] for row in rows), default=None)
    if at is not None and abs((at - wanted).total_seconds()) > 0.01:
        yield f"started at {at.isoformat()}, expected {expected}"


def measure(folder: Path) -> list[tuple[str, str, int, str]]:
    """Return a row for each file: the kind, the file, its messages, and what is wrong."""
    table = []
    for page in sorted(folder.glob("*/expectations.json")):
        for expected in json.loads(page.read_text(encoding="utf-8"))["files"]:
            path = page.parent / expected["file"]
            rows, bad = sessions_in(path.parent if expected["file"].endswith("channels.json") else path)
            wrong = [*mistakes(expected, rows), *bad]
            number = sum(len(row["messages"]) for row in rows)
            table.append((page.parent.name, path.name[:40], number, "; ".join(wrong) or "as expected"))
    return table


def main() -> None:
    """Print the table."""
    table = measure(Path(sys.argv[1]))
    print("| kind | file | messages | |\n|---|---|---:|---|")
    for row in table:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
