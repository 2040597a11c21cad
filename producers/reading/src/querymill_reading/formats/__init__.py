"""The formats that can be read. A new one is a file in this folder and a line here.

Modules of formats import their engines, so they are imported only where a file is read.
"""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Final

from querymill_reading.document import Document
from querymill_reading.read_request import ReadRequest


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format of documents: the endings of its files, and the module whose ``read`` reads one."""

    name: str
    suffixes: tuple[str, ...]

    def read(self, asked: ReadRequest) -> Document:
        """Read a file.

        Raises:
            Unreadable: It gives no document.
        """
        found: Document = EntryPoint(self.name, f"{__name__}.{self.name}:read", __name__).load()(asked)
        return found


FORMATS: Final = (
    DocumentFormat("pdf", (".pdf",)),
    DocumentFormat("html", (".html", ".htm", ".xhtml")),
    DocumentFormat("docx", (".docx", ".docm")),
    DocumentFormat("pptx", (".pptx", ".pptm")),
    DocumentFormat("xlsx", (".xlsx", ".xlsm")),
    DocumentFormat("epub", (".epub",)),
    DocumentFormat("markdown", (".md", ".markdown", ".mdx")),
    DocumentFormat("text", (".txt", ".text", ".rst", ".adoc")),
)
BY_NAME: Final = {known.name: known for known in FORMATS}
BY_SUFFIX: Final = {suffix: known for known in FORMATS for suffix in known.suffixes}
