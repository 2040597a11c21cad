"""MSG: one mail as Outlook keeps it; attachments are named."""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from oxmsg import Message
from oxmsg.domain import constants

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.letters import LetterForm, fuller, head_of, html_parts, plain_parts
from querymill_reading.formats.msg_strings import KINDS, MailStrings
from querymill_reading.formats.rtf import text_of_rtf
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

_RTF: Final = 0x1009
_FILE_NAMES: Final = (constants.PID_ATTACH_LONG_FILENAME, constants.PID_ATTACH_FILENAME)
#: Letters of the names of attachments that a remark has.
MAX_NAMES: Final = 200
#: What compressed RTF may refer to from its beginning on, by its specification.
_DICTIONARY: Final = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW: Final = 4_096


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    try:
        mail = Message.load(str(asked.path))
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise Unreadable(f"a broken MSG file: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    remarks = Remarks()
    strings = MailStrings.of(mail, remarks)
    said: dict[str, str] = {}
    asks: dict[str, Callable[[Any], str]] = {
        "From": strings.sender,
        "Reply-To": strings.reply_to,
        **{kind: partial(strings.recipients, kind=kind) for kind in KINDS},
        "Date": _date,
    }
    for name, ask in asks.items():
        with remarks.part(name):
            said[name] = ask(mail)
    subject = ""
    with remarks.part("Subject"):
        subject = " ".join(strings.text(mail, constants.PID_SUBJECT).split())
    parts = [*head_of(subject, said), *_body(mail, strings, remarks)]
    with remarks.part("attachments"):
        names = [strings.text(each, *_FILE_NAMES) or "a file without a name" for each in mail.attachments]
        remarks.count(len(names), "attachment", f"left out: {', '.join(names)[:MAX_NAMES]}")
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    own = {"published_at": said["Date"][:10]} if said.get("Date") else {}
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=subject)
    return Document(
        "msg", pages, merged(proposed, own), {"author": said["From"]} if said.get("From") else {}, remarks.noted
    )


def _date(mail: Any) -> str:
    return mail.sent_date.isoformat(" ", "minutes") if mail.sent_date else ""


def _body(mail: Any, strings: MailStrings, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the text of a mail: plain or in HTML, whichever says all, else in RTF."""
    plain, rich = LetterForm(), LetterForm()
    with plain.remarks.part("text"):
        plain.parts.extend(plain_parts(strings.text(mail, constants.PID_BODY)))
    with rich.remarks.part("text in HTML"):
        written = mail.properties.binary_prop_value(constants.PID_HTML)
        label = "utf-8" if written is None else strings.web
        if (written := written or strings.text(mail, constants.PID_BODY_HTML).encode()).strip():
            rich.parts.extend(html_parts(written, rich.remarks, label))
    form = fuller(plain, rich)
    for told in (plain, rich) if not form.parts else (form,):
        remarks.noted.extend(told.remarks.noted)
    if form.parts:
        yield from form.parts
        return
    with remarks.part("text in RTF"):
        packed = mail.properties.binary_prop_value(_RTF)
        if packed:
            yield from plain_parts(text_of_rtf(unpacked(packed).decode("latin-1"), otherwise=strings.page))


def unpacked(packed: bytes) -> bytes:
    """Return RTF that Outlook has compressed.

    Raises:
        Unreadable: It is damaged.
    """
    if len(packed) < 16:
        raise Unreadable("compressed RTF is too short")
    size, kind = struct.unpack("<I4s", packed[4:12])
    if kind == b"MELA":
        return packed[16 : 16 + size]
    return bytes(_letters(packed, size)[:size])


def _letters(packed: bytes, size: int) -> bytearray:
    """Return the letters of compressed RTF: each is given, or stands in a window of those before it."""
    window = bytearray(_DICTIONARY.ljust(_WINDOW, b"\0"))
    done = bytearray()
    write = len(_DICTIONARY)
    for piece in _pieces(packed):
        if isinstance(piece, int):
            letters: Iterable[int] = (piece,)
        elif piece[0] == write or len(done) >= size:
            break
        else:
            letters = range(piece[0], piece[0] + piece[1])
        for letter in letters:
            window[write] = letter if isinstance(piece, int) else window[letter % _WINDOW]
            done.append(window[write])
            write = (write + 1) % _WINDOW
    return done


def _pieces(packed: bytes) -> Iterator[int | tuple[int, int]]:
    """Yield the letters that are given, and the places and lengths of those that stand before."""
    at = 16
    while at < len(packed):
        control, at = packed[at], at + 1
        for bit in range(8):
            is_place = control >> bit & 1
            if at + is_place >= len(packed):
                return
            if is_place:
                token = packed[at] << 8 | packed[at + 1]
                yield token >> 4, (token & 15) + 2
            else:
                yield packed[at]
            at += 1 + is_place
