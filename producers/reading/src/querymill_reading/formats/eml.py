"""EML: one mail, with the mails that it forwards; attachments are named."""

import re
from collections.abc import Iterator
from email import policy
from email.errors import MessageError
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from typing import Any, Final

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.encodings import decoded_as
from querymill_reading.formats.letters import (
    SHOWN,
    LetterForm,
    fuller,
    head_of,
    html_parts,
    is_same_person,
    plain_parts,
)
from querymill_reading.formats.text import decoded
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.proposals import day_in, merged
from querymill_reading.rules.sections import SectionPart, sections

#: What stands between the parts of a mail.
_BORDER: Final = re.compile(r"^--([^\s\"](?:[^\r\n\"]{0,198}[^\s\"])?)[ \t]*\r?$", re.M)
#: Fields that some programs write once for each recipient.
_LISTS: Final = ("To", "Cc", "Bcc")
#: Mails within mails that are followed.
MAX_DEPTH: Final = 20
#: Letters of the names of attachments that a remark has.
MAX_NAMES: Final = 200


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    with asked.path.open("rb") as file:
        mail = BytesParser(policy=policy.default).parse(file)
    remarks = Remarks()
    attached: list[str] = []
    parts = list(_parts(mail, remarks, attached, 0))
    remarks.count(len(attached), "attachment", f"left out: {', '.join(attached)[:MAX_NAMES]}")
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    subject = field_of(mail, "Subject")
    own: dict[str, str] = {}
    if written := field_of(mail, "Date"):
        own = {"published_at": day} if (day := _day_of(written)) else {}
        if not own:
            remarks.note(f"not understood: {written[:MAX_NAMES]}", "the date")
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=subject)
    sender = field_of(mail, "From")
    return Document("eml", pages, merged(proposed, own), {"author": sender} if sender else {}, remarks.noted)


def field_of(mail: Any, name: str) -> str:
    """Return a field of the head as it is shown; as it is written, if it is damaged. A list may go on in another."""
    try:
        written = mail.get_all(name, []) if name in _LISTS else [mail[name] or ""]
        return " ".join(", ".join(map(str, written)).split())
    except (ValueError, IndexError, AttributeError, MessageError):
        return next(
            (" ".join(str(value).split()) for key, value in mail.raw_items() if key.lower() == name.lower()), ""
        )


def _day_of(written: str) -> str:
    """Return the day of a date as mails have it, or as it should not be in a mail and is all the same."""
    try:
        return parsedate_to_datetime(written).date().isoformat()
    except (ValueError, TypeError, IndexError):
        return day_in(written)


def _parts(mail: Any, remarks: Remarks, attached: list[str], depth: int) -> Iterator[SectionPart]:
    said = {name: field_of(mail, name) for name in SHOWN}
    if is_same_person(said["Reply-To"], said["From"]):
        said["Reply-To"] = ""
    yield from head_of(field_of(mail, "Subject"), said)
    yield from body_of(mail, remarks, attached, depth)


def body_of(part: Any, remarks: Remarks, attached: list[str], depth: int) -> Iterator[SectionPart]:
    """Yield the texts of a mail; of several forms of the same text one that says all."""
    kind = part.get_content_type()
    name = part.get_filename()
    if depth > MAX_DEPTH:
        remarks.note("mails within mails are nested too deeply")
    elif part.is_multipart():
        yield from _several(part, kind, remarks, attached, depth + 1)
    elif part.get_content_maintype() == "multipart":
        yield from _unsplit(part, kind, remarks, attached, depth + 1)
    elif part.get_content_maintype() != "text" or (name and part.get_content_disposition() == "attachment"):
        attached.append(name or kind)
    else:
        with remarks.part(f"a part of type {kind}"):
            yield from _text(part, kind, remarks)


def _several(part: Any, kind: str, remarks: Remarks, attached: list[str], depth: int) -> Iterator[SectionPart]:
    """Yield the texts of a part that has parts, which may be a whole mail."""
    if kind == "multipart/alternative":
        form = _form(part, attached, depth)
        remarks.noted.extend(form.remarks.noted)
        yield from form.parts
        return
    read = _parts if kind == "message/rfc822" else body_of
    for inner in part.iter_parts():
        yield from read(inner, remarks, attached, depth)


def _form(alternatives: Any, attached: list[str], depth: int) -> LetterForm:
    """Return the form of a text that is read: plain or in HTML, else the first that says something.

    Of several in HTML it is the last, which the sender holds for the best. What any of them brings is attached.
    """
    plain, rich, others = LetterForm(), LetterForm(), LetterForm()
    for part in alternatives.iter_parts():
        form = LetterForm()
        form.parts.extend(body_of(part, form.remarks, attached, depth))
        if not form.parts:
            others.remarks.noted.extend(form.remarks.noted)
        elif any(each.get_content_type() == "text/html" for each in part.walk()):
            rich = form
        elif part.get_content_type().startswith(("text/plain", "multipart/")) and not plain.parts:
            plain = form
        elif not others.parts:
            others.parts.extend(form.parts)
            others.remarks.noted.extend(form.remarks.noted)
    chosen = fuller(plain, rich)
    return chosen if chosen.parts else others


def _unsplit(part: Any, kind: str, remarks: Remarks, attached: list[str], depth: int) -> Iterator[SectionPart]:
    """Yield the texts of a part whose parts the engine does not find: its head names another border, or none."""
    written = str(part.get_payload())
    if border := _BORDER.search(written):
        head = f'Content-Type: {kind}; boundary="{border[1]}"\n\n'
        split = BytesParser(policy=policy.default).parsebytes((head + written).encode(errors="surrogateescape"))
        if split.is_multipart():
            yield from _several(split, kind, remarks, attached, depth)
            return
    if written.strip():
        remarks.note("its parts cannot be told apart, so it is read as one text", f"a part of type {kind}")
        yield from plain_parts(decoded(written.encode(errors="surrogateescape")))
    else:
        remarks.note("there is nothing in it", f"a part of type {kind}")


def _text(part: Any, kind: str, remarks: Remarks) -> Iterator[SectionPart]:
    raw = part.get_payload(decode=True)
    content = raw if isinstance(raw, bytes) else b""
    label = part.get_content_charset() or ""
    if kind == "text/html":
        yield from html_parts(content, remarks, label)
    else:
        text = decoded_as(content, label) if label else None
        yield from plain_parts(decoded(content, remarks, otherwise="cp1252") if text is None else text)
