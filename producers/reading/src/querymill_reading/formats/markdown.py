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
#: The first line of a module's statement, as MDX has it.
_MODULE: Final = re.compile(
    r"import\s+(?:[\w*{},\s$]+\s+from\s+)?['\"][^'\"]+['\"];?\s*$|import\s+(?:\w+\s*,\s*)?\{\s*$"
    r"|export\s+(?:default\b|(?:const|let|var|async|function|class)\s+[\w$]|[{*])"
)
_LINK: Final = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_COMMENT: Final = re.compile(r"<!--.*?-->")
#: A comment of several lines.
_OPEN_COMMENT: Final = re.compile(r"[ ]{0,3}<!--(?!.*-->)")
_TAG: Final = re.compile(r"</?([A-Za-z][A-Za-z0-9.]*)(?:\s[^<>]*)?/?>")
_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
#: The elements of HTML that stand in Markdown; another name in brackets is a text, such as Vec<u8> or <your name>.
_ELEMENTS: Final = frozenset(
    [
        "a", "abbr", "address", "article", "aside", "audio", "b", "blockquote", "body", "br", "caption", "center",
        "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption",
        "figure", "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "i", "iframe",
        "img", "ins", "kbd", "li", "main", "mark", "nav", "ol", "p", "picture", "pre", "q", "s", "samp", "section",
        "small", "source", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot",
        "th", "thead", "tr", "tt", "u", "ul", "var", "video", "wbr",
    ]
)  # fmt: skip
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
    remarks = Remarks()
    text = decoded(asked.path.read_bytes(), remarks)
    front: dict[str, Any] = {}
    own: dict[str, str] = {}
    with remarks.part("front matter"):
        front, text = front_matter(text)
        own = _proposed(front)
    is_mdx = asked.name.lower().endswith(".mdx")
    if is_mdx:
        text, modules = without_modules(text)
        remarks.count(modules, "statement of a module", "left out")
    parts = list(parts_of(text, is_mdx=is_mdx))
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


def parts_of(text: str, *, is_mdx: bool = False) -> Iterator[SectionPart]:
    """Yield the headings and paragraphs. Code keeps its lines; elsewhere links and tags give their text.

    Only of MDX, tags of any name are none of the text.
    """
    paragraph: list[str] = []
    fence = ""
    for line in [*_without_comments(text), ""]:
        mark = _FENCE.match(line)
        if fence or mark:
            paragraph.append(line)
            fence = _after(fence, mark)
            continue
        heading = _heading(line, paragraph, is_mdx=is_mdx)
        if heading is not None and not line.startswith("#"):
            paragraph.clear()  # it was the heading
        elif (heading is not None or not line.strip()) and paragraph:
            yield SectionPart("\n".join(paragraph))
            paragraph = []
        if heading is not None:
            yield heading
        elif line.strip():
            paragraph.append(_plain_text(line, is_mdx=is_mdx))
    if paragraph:
        yield SectionPart("\n".join(paragraph))


def without_modules(text: str) -> tuple[str, int]:
    """Return MDX without the statements of its module, and how many these are.

    They begin where a paragraph could, and end with a blank line. A line of prose that begins with "import" is none.
    """
    kept: list[str] = []
    fence = ""
    count = 0
    within = False
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            fence = _after(fence, mark)
        may_begin = within or not kept or not kept[-1].strip()
        if not fence and may_begin and _MODULE.match(line):
            within, count = True, count + 1
        elif not line.strip():
            within = False
        if not within:
            kept.append(line)
    return "\n".join(kept), count


def _without_comments(text: str) -> Iterator[str]:
    """Yield the lines of a text without comments of several lines; code keeps what looks like one."""
    fence, is_comment = "", False
    for line in text.split("\n"):
        if not fence and (is_comment or _OPEN_COMMENT.match(line)):
            is_comment = "-->" not in line
            continue
        fence = _after(fence, _FENCE.match(line))
        yield line


def _after(fence: str, mark: re.Match[str] | None) -> str:
    """Return the fence that is open after a line."""
    if mark is None or (fence and not mark[1].startswith(fence)):
        return fence
    return "" if fence else mark[1]


def _heading(line: str, above: list[str], *, is_mdx: bool = False) -> SectionPart | None:
    """Return the heading that a line is, or makes of the line above by underlining it."""
    if marked := _HEADING.match(line):
        return SectionPart(_plain_text(marked[2], is_mdx=is_mdx), level=len(marked[1]))
    if len(above) == 1 and "|" not in above[0] and _UNDERLINE.match(line):
        return SectionPart(above[0], level=1 if line.startswith("=") else 2)
    return None


def _plain_text(line: str, *, is_mdx: bool) -> str:
    """Return a line without links and tags; code in it, and code that is set in, stays as it is."""
    if not ("<" in line or "](" in line) or line.startswith(("    ", "\t")):
        return line
    codes = [found[0] for found in _CODE.finditer(line)]
    spans = iter(codes)
    prose = _CODE.sub("\0", line) if codes else line
    shown = _without_tags(_LINK.sub(r"\1", _COMMENT.sub("", prose)), is_mdx=is_mdx)
    return re.sub("\0", lambda _: next(spans), shown) if codes else shown


def _without_tags(prose: str, *, is_mdx: bool) -> str:
    return _TAG.sub(lambda tag: "" if is_mdx or tag[1].lower() in _ELEMENTS else tag[0], prose)


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
