"""Markdown with front matter: the sections under its headings."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, Final

import yaml

from querymill_reading.document import FIELDS, Document, Page, Remarks
from querymill_reading.formats.text import decoded
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.proposals import day_in
from querymill_reading.rules.sections import SectionPart, sections

_FRONT: Final = re.compile(r"\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.S)
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_UNDERLINE: Final = re.compile(r"(=+|-{3,})[ \t]*$")
_FENCE: Final = re.compile(r"[ ]{0,3}(```+|~~~+)")
_MODULE: Final = re.compile(r"(?:import|export)\s.+$")
_LINK: Final = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9.]*(?:\s[^<>]*)?/?>|<!--.*?-->")
#: A longer front matter is text.
MAX_FRONT_CHARS: Final = 50_000
#: What front matter calls the fields.
_NAMES: Final = {
    "title": ("title",),
    "company": ("company", "organization", "organisation"),
    "period": ("period", "fiscal_year"),
    "published_at": ("published_at", "published", "date", "pubDate", "created"),
}


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    text = decoded(asked.path.read_bytes())
    remarks = Remarks()
    front: dict[str, Any] = {}
    own: dict[str, str] = {}
    with remarks.part("front matter"):
        front, text = front_matter(text)
        own = _proposed(front)
    parts = list(parts_of(text))
    pages = [Page(number, section) for number, section in enumerate(sections(parts), 1)]
    heading = next((part.text for part in parts if part.level == 1), "")
    proposed = proposals(remarks, asked.name, [page.text for page in pages], title=heading) | own
    known = {name for names in _NAMES.values() for name in names}
    metadata = {name: value for name, value in front.items() if name not in known}
    return Document("markdown", pages, proposed, metadata, remarks.noted)


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter of a text, with values that JSON has, and the text behind it."""
    found = _FRONT.match(text)
    if found is None or len(found[1]) > MAX_FRONT_CHARS:
        return {}, text
    try:
        front = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    if not isinstance(front, dict):
        return {}, text
    return {str(name): _plain(value) for name, value in front.items()}, text[found.end() :]


def parts_of(text: str) -> Iterator[SectionPart]:
    """Yield the headings and paragraphs. Code keeps its lines; elsewhere links and tags give their text."""
    paragraph: list[str] = []
    fence = ""
    for line in [*text.split("\n"), ""]:
        mark = _FENCE.match(line)
        if fence or mark:
            paragraph.append(line)
            fence = _after(fence, mark)
            continue
        heading = _heading(line, paragraph)
        if heading is not None and not line.startswith("#"):
            paragraph.clear()  # it was the heading
        elif (heading is not None or not line.strip()) and paragraph:
            yield SectionPart("\n".join(paragraph))
            paragraph = []
        if heading is not None:
            yield heading
        elif line.strip() and not _MODULE.fullmatch(line):
            paragraph.append(_plain_text(line))
    if paragraph:
        yield SectionPart("\n".join(paragraph))


def _after(fence: str, mark: re.Match[str] | None) -> str:
    """Return the fence that is open after a line."""
    if mark is None or (fence and not mark[1].startswith(fence)):
        return fence
    return "" if fence else mark[1]


def _heading(line: str, above: list[str]) -> SectionPart | None:
    """Return the heading that a line is, or makes of the line above by underlining it."""
    if marked := _HEADING.match(line):
        return SectionPart(_plain_text(marked[2]), level=len(marked[1]))
    if len(above) == 1 and "|" not in above[0] and _UNDERLINE.match(line):
        return SectionPart(above[0], level=1 if line.startswith("=") else 2)
    return None


def _plain_text(line: str) -> str:
    return _TAG.sub("", _LINK.sub(r"\1", line)) if "<" in line or "](" in line else line


def _proposed(front: dict[str, Any]) -> dict[str, str]:
    proposed = {}
    for field in FIELDS:
        value = next((str(front[name]).strip() for name in _NAMES[field] if front.get(name)), "")
        value = day_in(value) if field == "published_at" else value[:200]
        if value:
            proposed[field] = value
    return proposed


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple() | set():
            return [_plain(item) for item in value]
        case str() | int() | float() | bool() | None:
            return value
        case date():
            return value.isoformat()
        case _:
            return str(value)
