"""Matrix: a room as Element exports it as plain text: a line for each message, dated in the locale of the browser."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import text_lines
from querymill_histories.rules.authors import AUTHOR, are_said, authors_of
from querymill_histories.rules.day_order import WrittenDate, order_of
from querymill_histories.rules.phone_dates import START, is_unbracketed, stamp_of
from querymill_histories.rules.remarks import ATTACHMENTS, NO_TIMES, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryMessage, ReadOptions, Session

_NAME: Final = re.compile(r"\w+ - (?P<name>.+) - Chat Export - .+", re.IGNORECASE)
#: Stands at the end of the line of a file, and in place of one in a page.
OMITTED: Final = re.compile(
    r"\(?(?:media omitted|file attached|error fetching file|medien ausgelassen|datei angehängt|média ignorés?"
    r"|fichier joint|archivo adjunto|multimedia omitida)[^()]{0,60}\)?$",
    re.IGNORECASE,
)
#: Above an answer, what it answers is quoted in part.
_ANSWERED: Final = re.compile(r'<[^<>"\n]{1,100} "[^\n]{0,40}"> ')
_EMOTE: Final = "* "
_LOOKED_AT: Final = 20


def is_text(head: Head) -> bool:
    """Return whether a text begins with messages of a room."""
    stamped = [START.match(line) for line in head.text.splitlines()[:_LOOKED_AT] if line.strip()]
    if not stamped or stamped[0] is None or "\0" in head.text or not is_unbracketed(stamped[0]):
        return False
    is_named = _NAME.fullmatch(head.path.stem) is not None
    return is_named or are_said([match["rest"] for match in stamped if match is not None])


def read_text(path: Path, asked: ReadOptions) -> Session:
    """Read a room.

    Raises:
        OSError: It cannot be read.
    """
    left_out: Counter[str] = Counter()
    lines = list(_lines(path, left_out))
    order = order_of([stamp for _, stamp, _ in lines])
    authors = authors_of([text for _, _, text in lines])
    said: list[HistoryMessage] = []
    for number, stamp, text in lines:
        who, words = _told(text, authors, left_out)
        if words:
            at = stamp.moment(order)
            left_out[NO_TIMES] += at is None
            said.append(HistoryMessage(who, words, None, at and at.replace(tzinfo=asked.zone), number))
    stem = plain_name(path).stem
    match = _NAME.fullmatch(stem)
    name = match["name"] if match else stem
    id_ = f"matrix-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    about = {"dates": order.described, "time_zone": str(asked.zone)}
    return Session(id_, path, list(said), name, None, about, left_out=+left_out)


def _lines(path: Path, left_out: Counter[str]) -> Iterator[tuple[int, WrittenDate, str]]:
    """Yield the number, the date and the text of each message; a line without a date continues the one before."""
    held: tuple[int, WrittenDate, str] | None = None
    for number, line in text_lines(path, left_out):
        match = START.match(line)
        if match is not None and is_unbracketed(match):
            if held is not None:
                yield held
            held = number, stamp_of(match), match["rest"]
        elif held is not None:
            held = *held[:2], f"{held[2]}\n{line}"
    if held is not None:
        yield held


def _told(text: str, authors: frozenset[str], left_out: Counter[str]) -> tuple[str, str]:
    """Return who says what; "" of a line that says what happened, or of a file, which are counted."""
    if text.startswith(_EMOTE):
        who, _, words = text.removeprefix(_EMOTE).partition(" ")
        return who, words.strip()
    is_file = OMITTED.search(text.rstrip()) is not None
    match = AUTHOR.match(text)
    if is_file:
        left_out[ATTACHMENTS] += 1
    elif match is None or match["author"] not in authors:
        left_out[SYSTEM_LINES] += 1
    else:
        words = _ANSWERED.sub("", match["text"] or "", count=1).strip()
        left_out[WITHOUT_TEXT] += not words
        return match["author"], words
    return "", ""
