"""MSG: the texts of a mail, in Unicode or in the code page that the mail names, and of what belongs to it."""

import codecs
from dataclasses import dataclass
from email import policy
from email.parser import HeaderParser
from typing import Any, Final

from oxmsg.domain import constants as names
from oxmsg.domain.encodings import encoding_from_codepage
from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError

from querymill_reading.document import Remarks
from querymill_reading.formats.encodings import decoded_as
from querymill_reading.formats.letters import is_same_person
from querymill_reading.formats.text import decoded

#: How Outlook names code pages, and the library a codec.
_WINDOWS: Final = "windows_"
#: The types of texts: in Unicode, and in bytes.
_UNICODE, _BYTES = names.PTYP_STRING, names.PTYP_STRING8
#: The kinds of recipients, with the text that has all of one kind, and their numbers; beside these stand flags.
KINDS: Final = {"To": names.PID_DISPLAY_TO, "Cc": names.PID_DISPLAY_CC, "Bcc": names.PID_DISPLAY_BCC}
_KIND_OF: Final = dict(enumerate(KINDS, 1))
_OF_KIND: Final = 0xF


def _code_page(name: str) -> codecs.CodecInfo | None:
    """Return the codec of a code page by the name that Windows gives it, such as windows-950."""
    plain = name.replace("-", "_")
    return codecs.lookup(f"cp{plain.removeprefix(_WINDOWS)}") if plain.startswith(_WINDOWS) else None


codecs.register(_code_page)


@dataclass(frozen=True, slots=True)
class MailStrings:
    """Reads the texts of one mail. ``page`` is the encoding of those in bytes, ``web`` that of its HTML, if told."""

    page: str
    web: str
    remarks: Remarks

    @classmethod
    def of(cls, mail: Any, remarks: Remarks) -> "MailStrings":
        """Take what a mail says about its encodings."""
        page, web = (_encoding(mail, name) for name in (names.PID_MESSAGE_CODEPAGE, names.PID_INTERNET_CODEPAGE))
        return cls(page or web, web or page, remarks)

    def text(self, holder: Any, *wanted: int) -> str:
        """Return the first of some texts that a mail, a recipient or an attachment has."""
        properties = holder.properties
        for name in wanted:
            found = properties._get_property(name, (_UNICODE, _BYTES))  # noqa: SLF001  # the library decodes strictly
            if found is not None:
                raw = holder._storage.property_stream_bytes(name, found.ptyp)  # noqa: SLF001
                text = raw.decode("utf-16-le", errors="replace") if found.ptyp == _UNICODE else self.of_bytes(raw)
                if text := text.rstrip("\0").strip():
                    return text
        return ""

    def of_bytes(self, raw: bytes) -> str:
        """Return bytes as text."""
        text = decoded_as(raw, self.page) if self.page else None
        if text is not None:
            return text
        try:
            return raw.decode(self.page, errors="replace") if self.page else self._untold(raw)
        except LookupError:
            return self._untold(raw)

    def _untold(self, raw: bytes) -> str:
        return decoded(raw, self.remarks, otherwise="cp1252")

    def sender(self, mail: Any) -> str:
        """Return who sent a mail: by its head as it was sent, else by what Outlook keeps."""
        head = self._head(mail)
        if head["From"]:
            return " ".join(str(head["From"]).split())
        name = self.text(mail, names.PID_SENDER_NAME, names.PID_SENT_REPRESENTING_NAME)
        address = self.text(mail, names.PID_SENDER_SMTP_ADDRESS, names.PID_SENDER_EMAIL_ADDRESS)
        return f"{name} <{address}>".strip() if address else name

    def recipients(self, mail: Any, kind: str) -> str:
        """Return whom a mail was sent to, of one of the `KINDS`: by its list, else as Outlook shows them."""
        told: dict[str, list[str]] = {}
        for each in mail.recipients:
            address = self.text(each, names.PID_SMTP_ADDRESS, names.PID_EMAIL_ADDRESS)
            written = f"{self.text(each, names.PID_DISPLAY_NAME)} <{address}>".strip()
            number = each.properties._cherry_pick_int_prop(names.PID_RECIPIENT_TYPE)  # noqa: SLF001
            told.setdefault(_KIND_OF.get(number.value & _OF_KIND if number is not None else 0, "To"), []).append(
                written
            )
        return "; ".join(told.get(kind, [])) if told else self.text(mail, KINDS[kind])

    def reply_to(self, mail: Any) -> str:
        """Return to whom an answer goes, if that is another than who sent the mail."""
        own = self._head(mail)["Reply-To"]
        answered = " ".join(str(own).split()) if own else self.text(mail, names.PID_REPLY_RECIPIENT_NAMES)
        return "" if is_same_person(answered, self.sender(mail)) else answered

    def _head(self, mail: Any) -> Any:
        written = self.text(mail, names.PID_TRANSPORT_MESSAGE_HEADERS)
        return HeaderParser(policy=policy.default).parsestr(written)


def _encoding(mail: Any, name: int) -> str:
    """Return the encoding that a mail names, in the library's words; of a page that it does not know, nothing."""
    page = mail.properties._cherry_pick_int_prop(name)  # noqa: SLF001  # the others cannot be read before it is known
    try:
        return encoding_from_codepage(page.value) if page is not None else ""
    except (UnrecognizedCodePageError, UnsupportedEncodingError):
        # The library would read no property of a mail in such a page, though only texts in bytes depend on it.
        mail.properties.__dict__["_str_prop_encoding" if name == names.PID_MESSAGE_CODEPAGE else "body_encoding"] = ""
        return ""
