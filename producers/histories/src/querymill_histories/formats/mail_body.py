"""The text of a mail, whatever its parts are."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from email.message import Message
from html.parser import HTMLParser
from typing import Any, Final

from querymill_histories.rules.alternatives import says_more
from querymill_histories.rules.remarks import ATTACHMENTS

_COMMENT: Final = re.compile("<!--.*?-->", re.DOTALL)
_SECTION: Final = re.compile(r"<!\[[^<>]*+>")
_UNCLOSED: Final = re.compile(r"<(?=[^<>]*+(?:<|\Z))")
#: What programs call an encoding of which they write a larger one.
_LARGER: Final = {
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "gb2312": "gb18030",
    "gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "shift_jis": "cp932", "iso-8859-9": "cp1254",
    "big5": "big5hkscs", "iso-8859-8-i": "iso-8859-8",
}  # fmt: skip
#: Kinds of mails within a mail: they are attached, and no part of its text.
_WITHIN: Final = ("message/rfc822", "message/delivery-status", "message/partial", "message/external-body")
_NOT_SHOWN: Final = ("style", "script", "title")
_BLOCKS: Final = ("p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "hr", "pre", "table", "ul", "ol")


def body_of(message: Message, left_out: Counter[str]) -> str:
    """Return the text of a message: of the same in several forms one that says all. Attachments are counted."""
    return _joined(_shown(message, left_out))


def _joined(parts: Iterable[Message]) -> str:
    texts = [text for part in parts if (text := _text_of(part)).strip()]
    return "\n\n".join(text.strip("\n") for text in texts).replace("\r\n", "\n").strip()


def _shown(message: Message, left_out: Counter[str]) -> Iterator[Message]:
    """Yield the parts that are shown as text."""
    kind = message.get_content_type()
    if kind in _WITHIN or message.get_content_disposition() == "attachment" or message.get_filename():
        left_out[ATTACHMENTS] += 1
        return
    parts: Any = message.get_payload() if message.is_multipart() else []
    if kind == "multipart/alternative":
        yield from _best(parts, left_out)
        return
    for part in parts:
        yield from _shown(part, left_out)
    if not parts:
        if kind in ("text/plain", "text/html") or kind.startswith("multipart/"):
            yield message
        elif kind != "text/calendar":
            left_out[ATTACHMENTS] += 1


def _best(parts: list[Message], left_out: Counter[str]) -> Iterator[Message]:
    """Yield of the forms of one text the plain one, unless there is none, or that in HTML has clearly more words."""
    plain: list[Message] = []
    rich: list[Message] = []
    for part in parts:
        shown = [each for each in _shown(part, left_out) if _text_of(each).strip()]
        if any(each.get_content_type() == "text/html" for each in shown):
            rich = shown
        else:
            plain = plain or shown
    is_fuller = not plain or (rich and says_more(_joined(rich), _joined(plain)))
    yield from rich if is_fuller else plain


def _text_of(part: Message) -> str:
    text = decoded(part)
    if part.get_content_type() == "text/html":
        return without_tags(text)
    if str(part.get_param("format", "")).lower() == "flowed":
        return unflowed(text, is_joined=str(part.get_param("delsp", "")).lower() == "yes")
    return text


def decoded(part: Message) -> str:
    """Return a part as text: in its encoding, else in UTF-8, else in that of western Windows."""
    payload: Any = part.get_payload(decode=True)
    octets = payload if isinstance(payload, bytes) else b""
    named = (part.get_content_charset() or "utf-8").lower()
    is_ascii = named in ("us-ascii", "ascii")
    for encoding in ("utf-8" if is_ascii else named, _LARGER.get(named), "utf-8", "cp1252"):
        if encoding is None or (encoding == named and named in _LARGER):
            continue
        try:
            return octets.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return octets.decode("latin-1")


def unflowed(text: str, *, is_joined: bool) -> str:
    """Return a text of which a program broke the lines, with the lines as they were written (RFC 3676).

    Args:
        text: Its broken lines end with a blank.
        is_joined: Whether that blank is of the breaking, and not of the text.
    """
    lines: list[list[str]] = []
    goes_on, quotes_before = False, 0
    for line in text.replace("\r\n", "\n").split("\n"):
        quotes = len(line) - len(line.lstrip(">"))
        own = line[quotes:].removeprefix(" ")
        is_signature = own == "-- "
        breaks = own.endswith(" ") and not is_signature
        shown = own[:-1] if breaks and is_joined else own
        if goes_on and not is_signature and quotes == quotes_before:
            lines[-1].append(shown)
        else:
            lines.append([f"{'>' * quotes} {shown}" if quotes else shown])
        goes_on, quotes_before = breaks, quotes
    return "\n".join(map("".join, lines))


class _Text(HTMLParser):
    """The text of a page, a line for each block. Lines that are quoted have the mark of plain mails."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[bool, list[str]]] = [(False, [])]
        self.hidden = 0
        self.quoted = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        """Begin a line, or text that is not shown."""
        self.hidden += tag in _NOT_SHOWN
        self.quoted += tag == "blockquote"
        if tag in _BLOCKS:
            self._begin_line(is_always=tag == "br")

    def handle_endtag(self, tag: str) -> None:
        """End text that is not shown."""
        self.hidden -= tag in _NOT_SHOWN and self.hidden > 0
        self.quoted -= tag == "blockquote" and self.quoted > 0
        if tag in ("blockquote", "p", "div", "table"):
            self._begin_line()

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self.hidden:
            line = self.lines[-1][1]
            blank = " " if data[:1].isspace() and line and not line[-1].endswith(" ") else ""
            line.append(blank + " ".join(data.split()) + (" " if data[-1:].isspace() and data.strip() else ""))

    def _begin_line(self, *, is_always: bool = False) -> None:
        if is_always or any(map(str.strip, self.lines[-1][1])):
            self.lines.append((self.quoted > 0, []))
        else:
            self.lines[-1] = (self.quoted > 0, [])

    @property
    def text(self) -> str:
        """The lines that were read."""
        told = ((is_quoted, "".join(parts).strip()) for is_quoted, parts in self.lines)
        return "\n".join(f"> {line}" if is_quoted and line else line for is_quoted, line in told)


def without_tags(html: str) -> str:
    """Return the text of a page."""
    # The parser reads on to the end for every tag and comment that does not end: here such a beginning is text.
    closed = html.rfind("-->") + len("-->") if "-->" in html else 0
    html = _UNCLOSED.sub("&lt;", _SECTION.sub("", _COMMENT.sub("", html[:closed]) + html[closed:]))
    parser = _Text()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n\s*\n+", "\n\n", parser.text)
