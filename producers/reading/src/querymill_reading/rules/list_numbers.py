"""The numbers of items in lists as a person sees them: 1., a), iv, ①. Word processors store only their form."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

BULLET: Final = "•"
#: Numbers that are written in letters, Roman or Chinese figures; a larger one is written in digits.
MAX_LETTERS, MAX_ROMAN, MAX_CHINESE = 780, 3_999, 99
_ROMAN: Final = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_LATIN: Final = "abcdefghijklmnopqrstuvwxyz"
_GREEK: Final = "αβγδεζηθικλμνξοπρστυφχψω"
_RUSSIAN: Final = "абвгдежзиклмнопрстуфхцчшщыэюя"
_CHINESE: Final = "〇一二三四五六七八九"
_WHOLE: Final = re.compile(r"\s*-?[0-9]{1,6}\s*")
_ORDINALS: Final = {1: "st", 2: "nd", 3: "rd"}
#: Where Unicode has numbers in a circle, in brackets and with a full stop; each goes to 20.
_CIRCLE, _BRACKETS, _STOP, _LAST_SIGN = "①", "⑴", "⒈", 20


def roman(number: int) -> str:
    """Return a number in capital Roman figures.

    >>> roman(1994)
    'MCMXCIV'
    """
    if not 0 < number <= MAX_ROMAN:
        return str(number)
    written = ""
    for value, sign in _ROMAN:
        times, number = divmod(number, value)
        written += sign * times
    return written


def lettered(number: int, letters: str = _LATIN, *, is_repeated: bool = True) -> str:
    """Return a number in letters. After the last come aa, bb, cc if letters are repeated, else aa, ab, ac.

    >>> lettered(28), lettered(28, is_repeated=False)
    ('bb', 'ab')
    """
    if not 0 < number <= MAX_LETTERS:
        return str(number)
    if is_repeated:
        times, at = divmod(number - 1, len(letters))
        return letters[at] * (times + 1)
    written = ""
    while number:
        number, at = divmod(number - 1, len(letters))
        written = letters[at] + written
    return written


def chinese(number: int) -> str:
    """Return a number in Chinese figures as it is read aloud.

    >>> chinese(10), chinese(21)
    ('十', '二十一')
    """
    if not 0 < number <= MAX_CHINESE:
        return str(number)
    tens, ones = divmod(number, 10)
    return ((_CHINESE[tens] if tens > 1 else "") + "十" if tens else "") + (_CHINESE[ones] if ones else "")


def ordinal(number: int) -> str:
    """Return a number as 1st, 2nd, 3rd."""
    return f"{number}{'th' if number % 100 in (11, 12, 13) else _ORDINALS.get(number % 10, 'th')}"


def _sign(first: str) -> Callable[[int], str]:
    return lambda number: chr(ord(first) + number - 1) if 0 < number <= _LAST_SIGN else str(number)


#: Forms by the names that Word has for them.
FORMS: Final[Mapping[str, Callable[[int], str]]] = {
    "decimal": str,
    "decimalZero": lambda number: f"{number:02}",
    "upperRoman": roman,
    "lowerRoman": lambda number: roman(number).lower(),
    "upperLetter": lambda number: lettered(number).upper(),
    "lowerLetter": lettered,
    "upperLetterPlaces": lambda number: lettered(number, is_repeated=False).upper(),
    "lowerLetterPlaces": lambda number: lettered(number, is_repeated=False),
    "lowerGreek": lambda number: lettered(number, _GREEK),
    "russianLower": lambda number: lettered(number, _RUSSIAN),
    "russianUpper": lambda number: lettered(number, _RUSSIAN).upper(),
    "ordinal": ordinal,
    "numberInDash": lambda number: f"- {number} -",
    "decimalEnclosedCircle": _sign(_CIRCLE),
    "decimalEnclosedCircleChinese": _sign(_CIRCLE),
    "decimalEnclosedParen": _sign(_BRACKETS),
    "decimalEnclosedFullstop": _sign(_STOP),
    "decimalFullWidth": lambda number: "".join(chr(ord(digit) + 0xFEE0) for digit in str(number)),
    "ideographDigital": lambda number: "".join(_CHINESE[int(digit)] for digit in str(abs(number))),
    "chineseCounting": chinese,
    "chineseCountingThousand": chinese,
    "japaneseCounting": chinese,
    "taiwaneseCounting": chinese,
    "taiwaneseCountingThousand": chinese,
    "none": lambda _: "",
}
#: Forms by the signs that HTML and OpenDocument have for them.
BY_SIGN: Final[Mapping[str, str]] = {
    "1": "decimal", "a": "lowerLetterPlaces", "A": "upperLetterPlaces", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip


def whole(written: str | None, otherwise: int = 0) -> int:
    """Return a whole number that a file has, or another one if it has none that can be meant."""
    return int(written) if written and _WHOLE.fullmatch(written) else otherwise


def shown(number: int, form: str) -> str:
    """Return a number in a form; in digits if the form is none that is known."""
    return FORMS.get(form, str)(number)


@dataclass(frozen=True, slots=True)
class ListLevel:
    """How items of one level are numbered.

    ``text`` has ``%1`` where the number of the first level stands, ``%2`` where that of the second does.
    ``restarts_after`` is the level, from 1, whose next item restarts this level: 0 for none, None for any above.
    """

    form: str = "decimal"
    text: str = ""
    start: int = 1
    is_legal: bool = False
    restarts_after: int | None = None


@dataclass(slots=True)
class ListCounter:
    """Counts the items of one list, level by level."""

    levels: Mapping[int, ListLevel]
    counts: dict[int, int] = field(default_factory=dict)

    def restart(self, level: int, start: int) -> None:
        """Let the next item of a level, from 0, have a number."""
        self.counts[level] = start - 1

    def end(self, level: int) -> None:
        """Forget the items of a level and those below it, so that the next is the first."""
        self.counts = {each: count for each, count in self.counts.items() if each < level}

    def next_label(self, level: int) -> str:
        """Count one more item of a level, from 0, and return what stands before it."""
        if level not in self.levels:
            return ""
        self.counts[level] = self.counts.get(level, self.levels[level].start - 1) + 1
        for deeper in [each for each in self.counts if each > level]:
            after = self.levels[deeper].restarts_after if deeper in self.levels else None
            if after is None or level < after:
                del self.counts[deeper]
        asked = self.levels[level]
        if asked.form == "bullet":
            return BULLET
        label = asked.text
        for at in range(level + 1):
            if (place := f"%{at + 1}") in label:
                label = label.replace(place, self._number(at, is_legal=asked.is_legal))
        return label.strip()

    def _number(self, level: int, *, is_legal: bool) -> str:
        known = self.levels.get(level, ListLevel())
        number = self.counts.setdefault(level, known.start)
        return str(number) if is_legal else shown(number, known.form)
