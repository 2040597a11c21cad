"""The formats that can be read. A new one is a file in this folder and a line here.

Modules of formats import their engines, so they are imported only where a file is read.
"""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Final

from querymill_reading.asked import Asked
from querymill_reading.document import Document


@dataclass(frozen=True, slots=True)
class Format:
    """A format of documents: the endings of its files, and the module whose ``read`` reads one."""

    name: str
    suffixes: tuple[str, ...]

    def read(self, asked: Asked) -> Document:
        """Read a file.

        Raises:
            Unreadable: It gives no document.
        """
        found: Document = EntryPoint(self.name, f"{__name__}.{self.name}:read", __name__).load()(asked)
        return found


FORMATS: Final = (
    Format("pdf", (".pdf",)),
    Format("html", (".html", ".htm", ".xhtml")),
    Format("docx", (".docx", ".docm", ".dotx", ".dotm")),
    Format("pptx", (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm")),
    Format("xlsx", (".xlsx", ".xlsm", ".xltx", ".xltm")),
    Format("odt", (".odt", ".ott", ".fodt")),
    Format("ods", (".ods", ".ots", ".fods")),
    Format("odp", (".odp", ".otp", ".fodp")),
    Format("rtf", (".rtf",)),
    Format("csv", (".csv", ".tsv", ".tab")),
    Format("eml", (".eml",)),
    Format("msg", (".msg",)),
    Format("epub", (".epub",)),
    Format("json", (".json",)),
    Format("markdown", (".md", ".markdown", ".mdx")),
    Format("text", (".txt", ".text", ".rst", ".adoc")),
)
BY_NAME: Final = {known.name: known for known in FORMATS}
BY_SUFFIX: Final = {suffix: known for known in FORMATS for suffix in known.suffixes}
