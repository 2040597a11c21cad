"""Discord: a channel as DiscordChatExporter writes it as plain text: a head, and messages below their times."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from querymill_histories.files import text_lines
from querymill_histories.formats.discord_csv import OF_DISCORD
from querymill_histories.formats.discord_dates import Row, dated
from querymill_histories.rules.remarks import ATTACHMENTS, REACTIONS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryMessage, ReadOptions

_RULE: Final = "=" * 62
_HEAD: Final = re.compile(r"(?P<what>Guild|Channel|Topic): (?P<said>.*)")
_MESSAGE: Final = re.compile(r"\[(?P<date>[^\]\n]*\d[^\]\n]*)\] (?P<author>.+?)(?P<pinned> \(pinned\))?$")
#: What stands below a text.
_BELOW: Final = {"{Attachments}": ATTACHMENTS, "{Stickers}": ATTACHMENTS, "{Reactions}": REACTIONS, "{Embed}": None}


def is_text(head: Head) -> bool:
    """Return whether a file begins as the exporter's texts do."""
    return head.text.startswith(f"{_RULE}\nGuild: ") or head.text.startswith(f"{_RULE}\r\nGuild: ")


@dataclass(slots=True)
class DiscordText:
    """What a text holds: what its head says, its messages, and the counts of what is left out."""

    about: dict[str, str] = field(default_factory=dict)
    said: list[HistoryMessage] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def describe(self, line: str) -> None:
        """Take a line of the head."""
        if told := _HEAD.match(line):
            self.about[told["what"]] = told["said"]


def read_text(path: Path, asked: ReadOptions) -> DiscordText:
    """Read a text.

    Raises:
        OSError: It cannot be read.
    """
    found = DiscordText()
    rows = [row for row in _rows(path, found) if _is_said(row, found.left_out)]
    found.said = list(dated(rows, asked.zone, found.left_out))
    return found


def _rows(path: Path, found: DiscordText) -> Iterator[Row]:
    """Yield messages. A line of a text that looks like the beginning of one does not stand below a blank line."""
    held: Row | None = None
    rules, below, before = 0, "", ""
    for number, line in text_lines(path, found.left_out):
        rules += line == _RULE
        if rules < 2:
            found.describe(line)
        elif (match := None if before.strip() else _MESSAGE.match(line)) is not None:
            yield from () if held is None else (held,)
            held, below = Row(number, match["author"], match["date"].strip(), ""), ""
        elif line in _BELOW:
            below = line
        elif held is not None and rules == 2:
            _add(held, line, below, found.left_out)
        before = line
    yield from () if held is None else (held,)


def _add(held: Row, line: str, below: str, left_out: Counter[str]) -> None:
    """Add a line to a message: to its text, or to the count of what stands below it. The text of a card is kept."""
    if below and (what := _BELOW[below]) is not None:
        left_out[what] += bool(line.strip())
    else:
        held.text += f"{line}\n"


def _is_said(row: Row, left_out: Counter[str]) -> bool:
    row.text = row.text.strip()
    if OF_DISCORD.fullmatch(row.text):
        left_out[SYSTEM_LINES] += 1
        return False
    left_out[WITHOUT_TEXT] += not row.text
    return bool(row.text)
