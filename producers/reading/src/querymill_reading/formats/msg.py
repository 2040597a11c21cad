"""MSG: one mail as Outlook keeps it; attachments are named."""

import codecs
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from oxmsg import Message

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.letters import head_of, html_parts, plain_parts
from querymill_reading.formats.rtf import text_of_rtf
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.proposals import merged
from querymill_reading.rules.sections import SectionPart, sections

_RTF: Final = 0x1009
#: How Outlook names code pages, and the library a codec.
_WINDOWS: Final = "windows_"
#: Letters of the names of attachments that a remark has.
MAX_NAMES: Final = 200
#: What compressed RTF may refer to from its beginning on, by its specification.
_DICTIONARY: Final = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW: Final = 4_096


def _code_page(name: str) -> codecs.CodecInfo | None:
    """Return the codec of a code page by the name that Windows gives it, such as windows-950."""
    plain = name.replace("-", "_")
    return codecs.lookup(f"cp{plain.removeprefix(_WINDOWS)}") if plain.startswith(_WINDOWS) else None


codecs.register(_code_page)


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    try:
        mail = Message.load(str(asked.path))
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise Unreadable(f"a broken MSG file: {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    remarks = Remarks()
    said: dict[str, str] = {}
    asks: dict[str, Callable[[Any], str]] = {"From": lambda mail: mail.sender, "To": _recipients, "Date": _date}
    for name, ask in asks.items():
        with remarks.part(name):
            said[name] = ask(mail) or ""
    subject = ""
    with remarks.part("Subject"):
        subject = " ".join((mail.subject or "").split())
    parts = [*head_of(subject, said), *_body(mail, remarks)]
    with remarks.part("attachments"):
        names = [attachment.file_name or "a file without a name" for attachment in mail.attachments]
        remarks.count(len(names), "attachment", f"left out: {', '.join(names)[:MAX_NAMES]}")
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    own = {"published_at": said["Date"][:10]} if said.get("Date") else {}
    proposed = proposals(remarks, asked.name, [page.text for page in pages[:3]], title=subject)
    return Document(
        "msg", pages, merged(proposed, own), {"author": said["From"]} if said.get("From") else {}, remarks.noted
    )


def _recipients(mail: Any) -> str:
    return "; ".join(f"{each.name} <{each.email_address}>" for each in mail.recipients)


def _date(mail: Any) -> str:
    return mail.sent_date.isoformat(" ", "minutes") if mail.sent_date else ""


def _body(mail: Any, remarks: Remarks) -> Iterator[SectionPart]:
    """Yield the text of a mail: plain, else in HTML, else in RTF."""
    with remarks.part("text"):
        if (mail.body or "").strip():
            yield from plain_parts(mail.body)
            return
    with remarks.part("text in HTML"):
        if (mail.html_body or "").strip():
            yield from html_parts(mail.html_body.encode(), remarks, "utf-8")
            return
    with remarks.part("text in RTF"):
        packed = mail.properties.binary_prop_value(_RTF)
        if packed:
            yield from plain_parts(text_of_rtf(unpacked(packed).decode("latin-1")))


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
