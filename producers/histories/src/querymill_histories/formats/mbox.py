"""Mailboxes: a file of messages, which threads make sessions of."""

import mailbox
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from querymill_histories.files import each
from querymill_histories.rules.quotations import own_words
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

_HEADER: Final = re.compile(r"^[A-Za-z][A-Za-z0-9-]*: ?", re.MULTILINE)
_REPLY: Final = re.compile(r"^\s*((re|aw|sv|antw|fwd?|wg|回复|答复)\s*(\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)
_COMMENT: Final = re.compile("<!--.*?-->", re.DOTALL)
_SECTION: Final = re.compile(r"<!\[[^<>]*+>")
_UNCLOSED: Final = re.compile(r"<(?=[^<>]*+(?:<|\Z))")
_ID: Final = re.compile(r"<([^<>\s]+)>")


def recognise(head: Head) -> bool:
    """Return whether a file begins with a message of a mailbox."""
    text = head.text.lstrip()
    first, _, rest = text.partition("\n")
    return first.startswith("From ") and _HEADER.match(rest) is not None


@dataclass(frozen=True, slots=True)
class _Mail:
    """A message with the ids of those that it answers, the nearest last."""

    id: str
    answers: tuple[str, ...]
    subject: str
    said: HistoryMessage


def _read(path: Path, asked: ReadOptions) -> Read:
    mails: list[_Mail] = []
    box = mailbox.mbox(path, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            try:
                mails.append(_mail(message_from_bytes(box.get_bytes(key)), f"{path.stem}-{number}", asked))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                yield UnreadPlace(f"{path}: message {number}", str(error))
    finally:
        box.close()
    for root, found in threads(mails).items():
        thread = sorted(found, key=lambda mail: mail.said.at.timestamp() if mail.said.at else 0.0)
        first = thread[0]
        yield Session(root, path, [mail.said for mail in thread], _REPLY.sub("", first.subject) or None, first.said.at)


def _mail(message: Message, otherwise: str, asked: ReadOptions) -> _Mail:
    id_ = next(iter(_ID.findall(_header(message, "Message-ID"))), otherwise)
    answers = _ID.findall(_header(message, "References")) + _ID.findall(_header(message, "In-Reply-To"))
    subject = " ".join(_header(message, "Subject").split())
    text = body_of(message)
    if answers or _REPLY.match(subject):
        text = own_words(text)
    said = HistoryMessage(sender_of(_header(message, "From")), text, id_, _date(_header(message, "Date"), asked))
    return _Mail(id_, tuple(answers), subject, said)


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


def body_of(message: Message) -> str:
    """Return the text of a message: plain text first, else that of its HTML. Attachments are left out."""
    parts = [
        part for part in message.walk() if not part.is_multipart() and part.get_content_disposition() != "attachment"
    ]
    for kind in ("text/plain", "text/html"):
        texts = [_decoded(part) for part in parts if part.get_content_type() == kind]
        if any(map(str.strip, texts)):
            return (
                "\n\n".join(map(_without_tags, texts) if kind == "text/html" else texts).replace("\r\n", "\n").strip()
            )
    return ""


def _decoded(part: Message) -> str:
    payload: Any = part.get_payload(decode=True)
    octets = payload if isinstance(payload, bytes) else b""
    try:
        return octets.decode(part.get_content_charset() or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return octets.decode("utf-8") if _is_utf8(octets) else octets.decode("latin-1")


class _Text(HTMLParser):
    """The text of a page, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Begin a line, or text that is not shown."""
        self.hidden += tag in ("style", "script", "title")
        if tag in ("p", "br", "div", "li", "tr", "h1", "h2", "h3", "blockquote"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End text that is not shown."""
        self.hidden -= tag in ("style", "script", "title") and self.hidden > 0

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self.hidden:
            self.parts.append(" ".join(data.split()) + (" " if data[-1:].isspace() else ""))


def _without_tags(html: str) -> str:
    # The parser reads on to the end for every tag and comment that does not end: here such a beginning is text.
    closed = html.rfind("-->") + len("-->") if "-->" in html else 0
    html = _UNCLOSED.sub("&lt;", _SECTION.sub("", _COMMENT.sub("", html[:closed]) + html[closed:]))
    parser = _Text()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n\s*\n+", "\n\n", "".join(parser.parts))


FORMAT: Final = HistoryFormat("mbox", recognise, each(_read))
