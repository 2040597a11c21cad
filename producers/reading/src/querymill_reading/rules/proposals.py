"""What a document is about, proposed from its cover and the name of its file: title, company, period, day."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Final

#: Characters of the first pages that are the cover.
COVER_CHARS: Final = 6_000
MAX_NAME_CHARS: Final = 200

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH: Final = "|".join(f"{month}|{month[:3]}\\.?" for month in _MONTHS)
_DAY: Final = re.compile(
    rf"(?P<year>(?:19|20)\d\d)[-_./年](?P<month>\d{{1,2}})[-_./月](?P<day>\d{{1,2}})(?!\d)"
    rf"|(?P<name>{_MONTH})\s+(?P<of_month>\d{{1,2}})\s*,\s*(?P<named_year>(?:19|20)\d\d)"
    rf"|(?P<first>\d{{1,2}})\s+(?P<second>{_MONTH})\s+(?P<third>(?:19|20)\d\d)",
    re.IGNORECASE,
)
_YEAR: Final = r"(?:19|20)\d\d"
_QUARTER_OF_FILE: Final = re.compile(
    rf"(?<![0-9A-Z])(?:FY\s?)?(?P<year>{_YEAR})\s?(?P<quarter>Q[1-4]|H[12])(?![0-9A-Z])"
    rf"|(?<![0-9A-Z])(?P<before>Q[1-4]|[1-4]Q)\s?(?:FY\s?)?(?P<after>{_YEAR})(?![0-9])",
    re.IGNORECASE,
)
_YEAR_OF_FILE: Final = re.compile(rf"(?<![0-9A-Z])(?:FY\s?)?({_YEAR})(?![0-9])", re.IGNORECASE)
_FORM_OF_FILE: Final = re.compile(r"(?<![0-9A-Z])(10-?K|10-?Q|8-?K|20-?F|6-?K|DEF ?14A)(?![0-9A-Z])", re.IGNORECASE)
_DATED: Final = re.compile(rf"(?<!\s)\s*+(?:dated\s*+)?{_YEAR}[-_.]\d\d[-_.]\d\d", re.IGNORECASE)
_KIND_OF_FILE: Final = re.compile(
    r"\b(?:10 ?[KQ]|8 ?K|20 ?F|6 ?K|ARS|earnings?(?: release| call)?|annual ?report|transcript|proxy|results)\b.*$",
    re.I,
)

_FORM: Final = re.compile(
    r"\bFORM\s+(10-K(?:/A)?|10-Q(?:/A)?|8-K(?:/A)?|20-F|40-F|6-K|S-1|S-4|DEF\s*14A)\b", re.IGNORECASE
)
_REGISTRANT: Final = re.compile(
    r"^[ \t]*+(?P<name>[^\n| \t][^\n|]{1,119}?)[ \t]*+\n++[ \t(]*+exact\s+name\s+of\s+(?:the\s+)?registrant",
    re.IGNORECASE | re.MULTILINE,
)
_ENDED: Final = re.compile(
    rf"(?P<span>(?:fiscal\s+)?year|quarterly\s+period|quarter|transition\s+period)\s+ended:?\s*(?P<day>(?:{_MONTH})\s+\d{{1,2}}\s*,\s*{_YEAR})",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    rf"date\s+of\s+(?:report|earliest\s+event)[^\n]{{0,60}}?:?\s*((?:{_MONTH})\s+\d{{1,2}}\s*,\s*{_YEAR})",
    re.IGNORECASE,
)
_QUARTER_SAID: Final = re.compile(
    rf"\b(first|second|third|fourth)\s+quarter\s+(?:of\s+)?(?:fiscal\s+)?(?:year\s+)?({_YEAR})", re.IGNORECASE
)
_FISCAL_SAID: Final = re.compile(rf"\b(?:fiscal|FY)\s*(?:year\s+)?({_YEAR})\b", re.IGNORECASE)
_CHINESE_PERIOD: Final = re.compile(rf"({_YEAR})\s*年\s*(?:年度报告|年报|第?([一二三四])季度报告|(半年度)报告)")
_CHINESE_COMPANY: Final = re.compile(
    r"^[^\S\n]*+([\u4e00-\u9fff（）()]{3,30}(?:股份有限公司|有限责任公司|有限公司|集团))", re.MULTILINE
)
_WORD_OF_NAME: Final = r"(?:[A-Z0-9][\w&.'’-]{0,30}|&|and|of|the|de|für)"
_LEGAL_FORM: Final = (
    r"(?:Inc(?:orporated)?\.?|Corp(?:oration)?\.?|Company|Co\.(?:,? Ltd\.?)?|L\.?L\.?C\.?|Ltd\.?|Limited|p\.?l\.?c\.?"
    r"|PLC|AG|SE|GmbH|KGaA|N\.?V\.?|B\.V\.|S\.?A\.?|S\.p\.A\.|A/S|ASA|AS|AB|Oyj)"
)
#: A line that is nothing but a company: a few words with capitals, and its legal form.
_NAMED_COMPANY: Final = re.compile(rf"{_WORD_OF_NAME}(?:,?[ \t]{_WORD_OF_NAME}){{0,6}},?[ \t]{_LEGAL_FORM}")
_ABSTRACT: Final = re.compile(r"^[^\w\n]*+abstract\b", re.IGNORECASE | re.MULTILINE)
#: Lines of a cover among which its company is looked for.
_TOP_LINES: Final = 15
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "一": 1, "二": 2, "三": 3, "四": 4}
_MACHINE_TITLE: Final = re.compile(
    r"^(?:[\d._-]+|untitled.*|microsoft word.*|\(?anonymous\)?"
    r"|.*\.(?:docx?|pdf|xlsx?|pptx?|indd|qxd|tmp|txt|html?)"
    r"|(?:slide|document|powerpoint presentation|presentation)\s*\d*)$",
    re.IGNORECASE,
)
_FILED_TITLE: Final = re.compile(r"^Form\s+(?P<form>\S+)\s+for\s+(?P<company>.+?)\sfiled\s", re.IGNORECASE)


def propose(name: str, pages: Sequence[str], *, title: str = "", heading: str = "") -> dict[str, str]:
    """Propose fields of a report.

    The name of the file goes before the cover for the period, because a company's fiscal year is in it and not in the
    dates on the cover. For example, ``BESTBUY_2024Q2_10Q.pdf`` gives "2024 Q2", and its cover, "BEST BUY CO., INC."
    above "(Exact name of registrant …)", the company.

    Args:
        name: The name of the file.
        pages: The texts of the first pages, or of all.
        title: The title that the file itself has, if any.
        heading: What stands largest on its first page, if that is known.
    """
    cover = "\n".join(pages[:3])[:COVER_CHARS]
    company = company_on(cover) or company_of_file(name)
    period = period_of_file(name) or period_on(cover)
    proposed = {
        "title": title_for(name, title, heading, _filing(company, cover)),
        "company": company,
        "period": period,
        "published_at": day_of_file(name) or _reported_on(cover),
    }
    return {field: value[:MAX_NAME_CHARS] for field, value in proposed.items() if value}


def title_for(name: str, title: str, heading: str, filing: str = "") -> str:
    """Choose a title: that of the file unless a program wrote it, the filing's form, the heading, the file's name."""
    own = "" if _MACHINE_TITLE.match(title.strip()) or _FILED_TITLE.match(title) else " ".join(title.split())
    return own or filing or " ".join(heading.split()) or stem_words(name)


def stem_words(name: str) -> str:
    """Return the name of a file as words: ``annual_report-2022.pdf`` is "annual report-2022"."""
    return " ".join(PurePath(name).stem.replace("_", " ").split()) or name


def company_on(cover: str) -> str:
    """Return the company that a cover names as the registrant, or near its top in a line of its own."""
    registrant = _REGISTRANT.search(cover)
    if registrant:
        return registrant["name"].strip(" _*\t")
    chinese = _CHINESE_COMPANY.search(cover)
    if chinese:
        return chinese[1]
    if _ABSTRACT.search(cover):
        return ""  # a paper: companies at its top are those for which its authors work
    top = [line.strip(" #*_\t") for line in cover.splitlines() if line.strip()][:_TOP_LINES]
    return next((line for line in top if _NAMED_COMPANY.fullmatch(line) and not line.startswith("By ")), "")


def company_of_file(name: str) -> str:
    """Return what stands before the period of a name that has a period and a form: ``AMCOR_2023Q4_EARNINGS``: AMCOR."""
    words = stem_words(name).replace("-", " ")
    found = _QUARTER_OF_FILE.search(words) or _YEAR_OF_FILE.search(words)
    if found is None or not found.start() or not _KIND_OF_FILE.search(words[found.end() :]):
        return ""
    company = words[: found.start()].strip(" -_")
    return "" if company.isdigit() else company


def period_of_file(name: str) -> str:
    """Return the year, or year and quarter, in the name of a file. A day is no period."""
    words = _DATED.sub(" ", PurePath(name).stem).replace("_", " ").replace("-", " ")
    quarter = _QUARTER_OF_FILE.search(words)
    if quarter:
        year, part = quarter["year"] or quarter["after"], (quarter["quarter"] or quarter["before"]).upper()
        return f"{year} {'Q' + part[0] if part.endswith('Q') else part}"
    year_found = _YEAR_OF_FILE.search(words)
    return year_found[1] if year_found else ""


def period_on(cover: str) -> str:
    """Return the period that a cover names: a quarter in words, a fiscal year, or the year in which it ended."""
    chinese = _CHINESE_PERIOD.search(cover)
    if chinese:
        part = f" Q{_ORDINALS[chinese[2]]}" if chinese[2] else " H1" if chinese[3] else ""
        return chinese[1] + part
    ended = _ENDED.search(cover)
    if ended is None:
        return ""
    quarter = _QUARTER_SAID.search(cover) if "quarter" in ended["span"].lower() else None
    if quarter:
        return f"{quarter[2]} Q{_ORDINALS[quarter[1].lower()]}"
    return day_in(ended["day"])[:4]


def day_of_file(name: str) -> str:
    """Return the day in the name of a file, as in ``8K_dated-2022-05-20.pdf``."""
    return day_in(PurePath(name).stem)


def day_in(text: str) -> str:
    """Return the first day that a text names, as in ISO 8601, or nothing."""
    for found in _DAY.finditer(text):
        year = found["year"] or found["named_year"] or found["third"]
        month = found["month"] or _month_number(found["name"] or found["second"])
        day = found["day"] or found["of_month"] or found["first"]
        try:
            return date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            continue
    return ""


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _filing(company: str, cover: str) -> str:
    """Name a filing by its company, form and the end of its period."""
    form = _FORM.search(cover)
    if form is None or not company:
        return ""
    ended = _ENDED.search(cover)
    reported = _REPORTED.search(cover)
    if ended:
        when = f" for the {' '.join(ended['span'].lower().split())} ended {' '.join(ended['day'].split())}"
    else:
        when = f", {' '.join(reported[1].split())}" if reported else ""
    return f"{company}, Form {form[1].upper()}{when}"


def _reported_on(cover: str) -> str:
    reported = _REPORTED.search(cover)
    return day_in(reported[1]) if reported else ""


def merged(*proposals: Mapping[str, str]) -> dict[str, str]:
    """Join proposals; where several have a field, the last one counts."""
    return {field: value for proposal in proposals for field, value in proposal.items() if value}
