"""Numbers as a sheet shows them: a value and the code of its format become the text of the cell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|(?P<bracket>\[[^\]]*\])'
    r"|(?P<general>General)|(?P<power>[Ee][+-])|(?P<other>.)",
    re.S | re.I,
)
_CONDITION: Final = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_SECTION: Final = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[]|[\["\\])+|(?<=;)(?=;|$)|^(?=;)')
_ELAPSED: Final = re.compile(r"\[(h+|m+|s+)\]", re.I)
_LITERALS: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
#: Digits of a figure without a format.
GENERAL_DIGITS: Final = 12
#: Longer codes are no formats, and more formats than these are not remembered.
MAX_CODE: Final = 255
_REMEMBERED: Final = 2_000
#: The number of the day that sheets count though 1900 had none, and that of the day behind the last one.
LEAP_DAY: Final = 60
LAST_DAY: Final = 2_958_466
_BEFORE_1900: Final = date(1899, 12, 30)
_FIRST_OF_1904: Final = date(1904, 1, 1)
_COMPARED: Final = {
    "<": lambda one, other: one < other, ">": lambda one, other: one > other, "=": lambda one, other: one == other,
    "<=": lambda one, other: one <= other, ">=": lambda one, other: one >= other, "<>": lambda one, other: one != other,
}  # fmt: skip


def shown_number(value: float, code: str) -> str:
    """Return a number as its format shows it, such as "00501", "1,250.00 €" or "12%"."""
    plain = general(value)
    if not code or len(code) > MAX_CODE or value != value or value in (float("inf"), float("-inf")):
        return plain
    try:
        section, is_absolute = _section(value, _sections(code))
        shown = _shown(abs(value) if is_absolute else value, section)
    except (ArithmeticError, ValueError, InvalidOperation):
        return plain
    return " ".join(shown.split()) or plain


def general(value: float) -> str:
    """Return a number as it is shown without a format: 0.1 + 0.2 is 0.3."""
    return str(value) if isinstance(value, int) else f"{value:.{GENERAL_DIGITS}g}"


def shown_time(value: datetime | date | time | timedelta, code: str) -> str:
    """Return a day or a time in the form of ISO 8601, as exactly as its format shows it.

    A month without a day is "2024-05", a duration of [h]:mm "49:30".
    """
    code = code[:MAX_CODE]
    if isinstance(value, timedelta):
        return _duration(value, code)
    letters = _LITERALS.sub("", code.split(";")[0]).lower()
    if isinstance(value, date) and "y" in letters and "d" not in letters and "h" not in letters:
        return f"{value.year:04}-{value.month:02}" if "m" in letters else f"{value.year:04}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", _exactness(value.time()))
    return value.isoformat(_exactness(value)) if isinstance(value, time) else value.isoformat()


@dataclass(frozen=True, slots=True)
class DayNumber:
    """A day and its time as a sheet counts them: since the beginning of 1900, or of 1904."""

    number: float
    is_since_1904: bool = False

    @property
    def has_date(self) -> bool:
        """Whether it is a day of the calendar. Sheets know a day 0 of 1900, and a 29th of February in that year."""
        return 1 <= self.number < self._end and (self.is_since_1904 or int(self.number) != LEAP_DAY)

    @property
    def is_shown(self) -> bool:
        """Whether a sheet shows it as a day."""
        return 0 <= self.number < self._end

    @property
    def _end(self) -> int:
        return LAST_DAY - (_FIRST_OF_1904 - _BEFORE_1900).days * self.is_since_1904

    def date(self) -> str:
        """Return the day in the form of ISO 8601, "1900-01-00" for the number 0."""
        day = int(self.number)
        if self.is_since_1904:
            return (_FIRST_OF_1904 + timedelta(day)).isoformat()
        if day in (0, LEAP_DAY):
            return "1900-02-29" if day else "1900-01-00"
        return (_BEFORE_1900 + timedelta(day + (day < LEAP_DAY))).isoformat()


def shown_day(day: DayNumber, code: str) -> str:
    """Return the number of a day as its format shows it, in the form of ISO 8601; as a figure if it is no day at all.

    In a format without a day, such as "h:mm", it is a time. Days before 1904 have a sign, those before 1900 no form.
    """
    value = day.number
    if value < 0 and day.is_since_1904:
        return f"-{shown_day(DayNumber(-value, is_since_1904=True), code)}"
    if not day.is_shown:
        return general(value)
    section = _section(value, _sections(code[:MAX_CODE]))[0]
    letters = _LITERALS.sub("", section).lower()
    if not set(letters) & set("ymdhs"):
        return shown_number(value, code)  # another form for a zero
    seconds = min(round(value % 1 * 86_400), 86_399)
    clock = time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    shown = clock.isoformat(_exactness(clock))
    if not set(letters) & set("yd"):
        return shown if "h" in letters or "s" in letters else day.date()
    if "d" not in letters and "h" not in letters:
        return day.date()[: 7 if "m" in letters else 4]
    return f"{day.date()} {shown}" if seconds and "h" in letters else day.date()


def _exactness(value: time) -> str:
    return "seconds" if value.second else "minutes"


def _duration(value: timedelta, code: str) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = "-" if seconds < 0 else "", abs(seconds)
    unit = found[1][0].lower() if (found := _ELAPSED.search(code)) else "h"
    if unit == "s":
        return f"{sign}{seconds}"
    if unit == "m":
        return f"{sign}{seconds // 60}:{seconds % 60:02}"
    shown = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}"
    return f"{shown}:{seconds % 60:02}" if "s" in _LITERALS.sub("", code).lower() or seconds % 60 else shown


@lru_cache(_REMEMBERED)
def _sections(code: str) -> tuple[str, ...]:
    return tuple(_SECTION.findall(code)) or (code,)


def _section(value: float, sections: Sequence[str]) -> tuple[str, bool]:
    """Return the part of a code that holds for a value, and whether it shows the sign itself."""
    for section in sections[:2]:
        if (condition := _CONDITION.search(section)) and _COMPARED[condition[1]](value, float(condition[2])):
            return section, value < 0 and len(sections) > 1 and "-" in section
    if _CONDITION.search(sections[0]):
        return sections[-1], False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    if value == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], False


@dataclass(slots=True)
class _Token:
    kind: str
    text: str


@lru_cache(_REMEMBERED)
def _tokens(section: str) -> tuple[_Token, ...]:
    found: list[_Token] = []
    for match in _TOKEN.finditer(section):
        kind, text = match.lastgroup, match[0]
        if kind in ("quoted", "escaped", "currency"):
            found.append(_Token("literal", match[kind] or ""))
        elif kind == "general":
            found.append(_Token("general", ""))
        elif kind == "power":
            found.append(_Token("power", text))
        elif kind == "other":
            found.append(_Token(text if text in "0#?.,%/@" else "literal", " " if text == "_" else text))
        elif kind is None:
            found.append(_Token("literal", " " if text.startswith("_") else ""))
    return tuple(found)


def _shown(value: float, section: str) -> str:
    tokens = _tokens(section)
    kinds = [token.kind for token in tokens]
    if "general" in kinds or "@" in kinds:
        return "".join(general(value) if token.kind in ("general", "@") else token.text for token in tokens)
    places = [at for at, kind in enumerate(kinds) if kind in "0#?"]
    if not places:
        return "".join(token.text for token in tokens if token.kind in ("literal", "%"))
    with localcontext() as context:
        context.prec = 400
        figure = Decimal(repr(value)) * 100 ** kinds.count("%")
        if "/" in kinds and "." not in kinds:
            return _fraction(figure, tokens)
        return _power(figure, tokens) if "power" in kinds else _digits(figure, tokens, places)


def _digits(figure: Decimal, tokens: Sequence[_Token], places: Sequence[int]) -> str:
    kinds = [token.kind for token in tokens]
    point = kinds.index(".") if "." in kinds else places[-1] + 1
    before, after = [at for at in places if at < point], [at for at in places if at > point]
    last = places[-1]
    tail = last + 1
    while tail < len(kinds) and kinds[tail] == ",":
        figure /= 1000
        tail += 1
    if "." in kinds and before:  # commas before the point count too
        behind = before[-1] + 1
        while behind < point and kinds[behind] == ",":
            figure /= 1000
            behind += 1
    rounded = abs(figure).quantize(Decimal(1).scaleb(-len(after)), ROUND_HALF_UP)
    whole, _, rest = f"{rounded:f}".partition(".")
    has_commas = any(kinds[at] == "," and before and before[0] < at < before[-1] for at in range(len(kinds)))
    shown = {**_whole(whole, before, kinds, has_commas=has_commas), **_rest(rest, after, kinds)}
    sign = "-" if figure < 0 and rounded else ""
    pieces = [
        shown.get(at, "") if token.kind in "0#?" else token.text if token.kind in (".", "literal", "%", "/") else ""
        for at, token in enumerate(tokens)
    ]
    if "." in kinds and not any(shown.get(at) for at in after):
        pieces[kinds.index(".")] = ""
    if not before and whole != "0":
        pieces[point] = whole + pieces[point]
    return sign + "".join(pieces)


def _whole(digits: str, places: Sequence[int], kinds: Sequence[str], *, has_commas: bool) -> dict[int, str]:
    """Return the digits before the point by their places, from the right; the first place takes all that are left."""
    least = len(places) - next((number for number, at in enumerate(places) if kinds[at] == "0"), len(places))
    digits = ("" if digits == "0" else digits).rjust(least, "0")
    grouped = [
        digit + ("," if has_commas and left and left % 3 == 0 else "")
        for digit, left in zip(digits, range(len(digits) - 1, -1, -1), strict=True)
    ]
    shown: dict[int, str] = {}
    for number, at in enumerate(reversed(places)):
        if number == len(places) - 1:
            shown[at] = "".join(grouped)
        elif grouped:
            shown[at] = grouped.pop()
    return shown


def _rest(digits: str, places: Sequence[int], kinds: Sequence[str]) -> dict[int, str]:
    least = max((number + 1 for number, at in enumerate(places) if kinds[at] == "0"), default=0)
    kept = digits[:least] + digits[least:].rstrip("0")
    return dict(zip(places, kept, strict=False))


def _power(figure: Decimal, tokens: Sequence[_Token]) -> str:
    at = next(number for number, token in enumerate(tokens) if token.kind == "power")
    decimals = sum(token.kind in "0#?" for token in tokens[:at]) - 1
    written = f"{figure:.{max(decimals, 0)}E}"
    mantissa, _, exponent = written.partition("E")
    width = sum(token.kind == "0" for token in tokens[at:])
    sign = "-" if exponent.startswith("-") else "+" if tokens[at].text.endswith("+") else ""
    behind = "".join(token.text for token in tokens[at:] if token.kind == "literal")
    return f"{mantissa}E{sign}{exponent.lstrip('+-').rjust(width, '0')}{behind}"


def _fraction(figure: Decimal, tokens: Sequence[_Token]) -> str:
    bar = next(at for at, token in enumerate(tokens) if token.kind == "/")
    digits = sum(token.kind in "0#?" for token in tokens[bar:]) or 1
    fixed = "".join(token.text for token in tokens[bar + 1 :] if token.kind == "literal").strip()
    groups = "".join("d" if token.kind in "0#?" else " " for token in tokens[:bar]).split()
    whole, rest = divmod(abs(figure), 1) if len(groups) > 1 else (Decimal(0), abs(figure))
    if fixed.isdecimal() and int(fixed):
        top, below = round(rest * int(fixed)), int(fixed)
    else:
        near = Fraction(rest).limit_denominator(10**digits - 1)
        top, below = near.numerator, near.denominator
    if len(groups) > 1 and top == below:
        whole, top = whole + 1, 0
    sign = "-" if figure < 0 else ""
    if not top and len(groups) > 1:
        return f"{sign}{whole:f}"
    return f"{sign}{whole:f} {top}/{below}" if whole else f"{sign}{top}/{below}"
