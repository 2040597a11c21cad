"""Mailboxes and single mails: messages, which threads make sessions of."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import Final

from querymill_histories.compressed import open_plain
from querymill_histories.files import BROKEN, head_of, reason_of
from querymill_histories.formats.mail_body import body_of
from querymill_histories.formats.mbox_messages import messages_in
from querymill_histories.rules.quotations import own_words
from querymill_histories.rules.remarks import WITHOUT_TEXT
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

_HEADER: Final = re.compile(r"^[A-Za-z][A-Za-z0-9-]*: ?", re.MULTILINE)
_REPLY: Final = re.compile(r"^\s*((re|aw|sv|antw|fwd?|wg|回复|答复)\s*(\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)
#: A mail that was sent on: what it quotes is what it is about.
_FORWARD: Final = re.compile(r"^\s*(fwd?|wg|tr|rv|enc|vs|doorst|i|转发|轉寄|fs)\s*[:：]", re.IGNORECASE)
#: Headers by which a mail is known.
_OF_MAIL: Final = frozenset(
    ["date", "message-id", "received", "subject", "return-path", "delivered-to", "mime-version", "to"]
)
_ID: Final = re.compile(r"<([^<>\s]+)>")


def recognise(head: Head) -> bool:
    """Return whether a file begins with a message of a mailbox, or is one."""
    return is_mailbox(head) or is_mail(head)


def is_mailbox(head: Head) -> bool:
    """Return whether a file begins with a line between messages."""
    first, _, rest = head.text.lstrip().partition("\n")
    return first.startswith("From ") and _HEADER.match(rest) is not None


def is_mail(head: Head) -> bool:
    """Return whether a file is one message, as in a Maildir and in ``.eml`` files: it begins with headers."""
    names: set[str] = set()
    for line in head.text.lstrip("\ufeff").splitlines():
        if not line.strip():
            break
        match = _HEADER.match(line)
        if match is not None:
            names.add(match[0].rstrip(": ").lower())
        elif not line[0].isspace():
            return False
    return "from" in names and len(names & _OF_MAIL) >= 2


@dataclass(frozen=True, slots=True)
class _Mail:
    """A message with the ids of those that it answers, the nearest last, and what of it is left out."""

    id: str
    answers: tuple[str, ...]
    subject: str
    said: HistoryMessage
    path: Path
    left_out: Counter[str]


def read(paths: Sequence[Path], asked: ReadOptions) -> Read:
    """Read messages. Those of a thread are one session, in whichever files they stand; a copy of one is read once."""
    mails: dict[str, _Mail] = {}
    for path in paths:
        try:
            for mail in _mails(path, asked):
                if isinstance(mail, UnreadPlace):
                    yield mail
                elif mails.setdefault(mail.id, mail) is not mail and mails[mail.id].said.text != mail.said.text:
                    mails[f"{mail.id}-{len(mails)}"] = mail
        except BROKEN as error:
            yield UnreadPlace(str(path), reason_of(error))
    for root, found in threads(list(mails.values())).items():
        thread = sorted(found, key=lambda mail: mail.said.at.timestamp() if mail.said.at else 0.0)
        first, source = thread[0], found[0].path
        said = [mail.said if mail.path == source else replace(mail.said, source=mail.path) for mail in thread]
        others = tuple(dict.fromkeys(mail.path for mail in thread if mail.path != source))
        left_out = sum((mail.left_out for mail in thread), Counter[str]())
        name = _REPLY.sub("", first.subject) or None
        yield Session(root, source, list(said), name, first.said.at, others=others, left_out=+left_out)


def _mails(path: Path, asked: ReadOptions) -> Iterator[_Mail | UnreadPlace]:
    head = head_of(path)
    if not is_mailbox(head) and is_mail(head):
        with open_plain(path) as file:
            messages: Iterable[bytes] = [file.read()]
    else:
        messages = messages_in(path)
    count = 0
    for count, octets in enumerate(messages, 1):
        try:
            yield _mail(message_from_bytes(octets), f"{path.stem}-{count}", path, asked)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            yield UnreadPlace(f"{path}: message {count}", str(error))
    if not count:
        yield UnreadPlace(str(path), 'no message: a mailbox has a line "From address date" above the headers of each')


def _mail(message: Message, otherwise: str, path: Path, asked: ReadOptions) -> _Mail:
    left_out: Counter[str] = Counter()
    id_ = next(iter(_ID.findall(_header(message, "Message-ID"))), otherwise)
    answers = _ID.findall(_header(message, "References")) + _ID.findall(_header(message, "In-Reply-To"))
    subject = " ".join(_header(message, "Subject").split())
    text = body_of(message, left_out)
    if (answers or _REPLY.match(subject)) and not _FORWARD.match(subject):
        own = own_words(text)
        left_out["quotations in mails"] += own != text
        text = own
    left_out[WITHOUT_TEXT] += not text
    said = HistoryMessage(sender_of(_header(message, "From")), text, id_, _date(_header(message, "Date"), asked))
    return _Mail(id_, tuple(answers), subject, said, path, left_out)


def threads(mails: list[_Mail]) -> Mapping[str, list[_Mail]]:
    """Return messages by thread: one belongs to the thread of any message that it answers, known or not."""
    leader: dict[str, str] = {}

    def lead(id_: str) -> str:
        while leader.setdefault(id_, id_) != id_:
            leader[id_] = leader[leader[id_]]
            id_ = leader[id_]
        return id_

    for mail in mails:
        for answered in mail.answers:
            leader[lead(mail.id)] = lead(answered)
    found: dict[str, list[_Mail]] = {}
    for mail in mails:
        found.setdefault(lead(mail.id), []).append(mail)
    return {thread[0].id: thread for thread in found.values()}


def _header(message: Message, name: str) -> str:
    """Return a header, decoded. One with raw bytes is read as UTF-8, else as Latin-1."""
    value = message.get(name)
    if value is None:
        return ""
    raw = str(value)
    if any("\udc80" <= character <= "\udcff" for character in raw):
        octets = raw.encode("ascii", "surrogateescape")
        return octets.decode("utf-8") if _is_utf8(octets) else octets.decode("latin-1")
    if not isinstance(value, str):
        octets = b"".join(part if isinstance(part, bytes) else part.encode() for part, _ in decode_header(value))
        return octets.decode("utf-8") if _is_utf8(octets) else octets.decode("latin-1")
    try:
        return str(make_header(decode_header(raw)))
    except (ValueError, LookupError):
        return raw


def _is_utf8(octets: bytes) -> bool:
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def sender_of(header: str) -> str:
    """Return the name of a sender: ``ann at example.org (Ann Other)`` is ``Ann Other``."""
    if match := re.fullmatch(r"\S+ at \S+ \((.+)\)", header.strip()):
        return match[1]
    name, address = parseaddr(header)
    return " ".join((name or address or header).split()) or "unknown"


def _date(header: str, asked: ReadOptions) -> datetime | None:
    try:
        found = parsedate_to_datetime(header)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found.replace(tzinfo=asked.zone) if found.tzinfo is None else found


FORMAT: Final = HistoryFormat("mbox", recognise, read, read_with="new")
