"""The formats that can be read. A new one is a file in this folder and a line here.

Modules of formats import their engines, so they are imported only where a file is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from querymill_reading.document import Document, Limits, Remarks
from querymill_reading.rules.proposals import propose


@dataclass(frozen=True, slots=True)
class Asked:
    """A file to read. ``name`` is what its owner calls it. ``on_page`` is told of each page before it is read.

    It raises `Unreadable` for a page that is to be left out.
    """

    path: Path
    name: str
    limits: Limits = field(default_factory=Limits)
    password: str | None = None
    on_page: Callable[[int], None] = lambda _: None


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
        module: Any = import_module(f"{__name__}.{self.name}")
        found: Document = module.read(asked)
        return found


def proposals(
    remarks: Remarks, name: str, pages: Sequence[str], *, title: str = "", heading: str = ""
) -> dict[str, str]:
    """Propose fields of a report, as `propose` does; none if that fails."""
    with remarks.part("title, company, period and date"):
        return propose(name, pages, title=title, heading=heading)
    return {}


FORMATS: Final = (
    Format("pdf", (".pdf",)),
    Format("html", (".html", ".htm", ".xhtml")),
    Format("docx", (".docx", ".docm")),
    Format("pptx", (".pptx", ".pptm")),
    Format("xlsx", (".xlsx", ".xlsm")),
    Format("epub", (".epub",)),
    Format("markdown", (".md", ".markdown", ".mdx")),
    Format("text", (".txt", ".text", ".rst", ".adoc")),
)
BY_NAME: Final = {known.name: known for known in FORMATS}
BY_SUFFIX: Final = {suffix: known for known in FORMATS for suffix in known.suffixes}
