"""What is asked of a format: to read a file, and to propose the fields of a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from querymill_reading.document import ReadLimits, Remarks
from querymill_reading.ocr import Ocr
from querymill_reading.rules.proposals import propose


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A file to read. ``name`` is what its owner calls it. ``on_page`` is told of each page before it is read.

    It raises `Unreadable` for a page that is to be left out. ``ocr`` reads pages that are pictures, if that is wanted.
    """

    path: Path
    name: str
    limits: ReadLimits = field(default_factory=ReadLimits)
    password: str | None = None
    on_page: Callable[[int], None] = lambda _: None
    ocr: Ocr | None = None


def proposals(
    remarks: Remarks, name: str, pages: Sequence[str], *, title: str = "", heading: str = ""
) -> dict[str, str]:
    """Propose fields of a report, as `propose` does; none if that fails."""
    with remarks.part("title, company, period and date"):
        return propose(name, pages, title=title, heading=heading)
    return {}
