"""Names of columns: which rows of a table that have no value name its columns, and do not begin its body."""

import re
from collections.abc import Sequence
from typing import Final

#: What the names of columns of figures say.
NAMES_COLUMNS: Final = re.compile(
    r"(?:19|20)[0-9]{2}|\b(?:ended|months|weeks|quarter|year|change|total|amount|%)\b", re.IGNORECASE
)
_SMALL_NUMERAL: Final = re.compile("[ivxlc]{1,7}")
_UNIT: Final = re.compile(r"\(?(?:[$€£¥%#]|in [a-z ]+)\)?", re.IGNORECASE)
_SENTENCES: Final = re.compile(r"\w{3,}[.!?]\s+[A-Z]")
#: Characters of the name of a column in a table of words.
MAX_NAME_CHARS: Final = 80
#: Characters of a name that may look like several sentences, as "Acct. No." does, and line ends in a name.
MAX_SHORTENED: Final = 40
MAX_LINE_ENDS: Final = 2


def is_small_numeral(text: str) -> bool:
    """Return whether a text is a number as pages before the first have it, such as "vii"."""
    return _SMALL_NUMERAL.fullmatch(text) is not None


def goes_on_in_numbers(below: Sequence[str]) -> bool:
    """Return whether a column of small numerals goes on in whole numbers."""
    number = next((text for text in below if text and not is_small_numeral(text)), "")
    return number.isdecimal()


def goes_on_naming(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Return whether a row without a value names columns, as the rows above it do.

    Its first cell is empty or that of a row above, or the rows above cannot do alone: they are a title, or have names
    over several columns or too few columns, or are periods of which it has the years or units.
    """
    others = [text for text in row[1:] if text]
    if any(map(_is_no_name, row)):
        return False
    if not others or not row[0] or row[0] in {names[0] for names in above}:
        return True
    if all(names[0] and len(set(filter(None, names))) == 1 for names in above):
        return True
    named = [any(texts) for texts in zip(*above, strict=True)]
    if not named[0] and not all(named[1:]):
        return True
    # A pivot table has "Sum of fees | Columns" alone above the names of its columns.
    if 2 * sum(named[1:]) < len(named) - 1 and all(text or is_named for text, is_named in zip(row, named, strict=True)):
        return True
    last = above[-1]
    if any(last[at] and last[at] == last[at - 1] for at in range(2, len(last))):
        return True
    units = [text for text in others if _UNIT.fullmatch(text)]
    if not all(text in units or NAMES_COLUMNS.search(text) for text in others):
        return False
    return bool(units) or not last[0] or any(map(NAMES_COLUMNS.search, last[1:]))


def _is_no_name(text: str) -> bool:
    """Return whether a text is too long for a name of a column, or several lines or sentences."""
    if len(text) > MAX_NAME_CHARS or text.count("\n") > MAX_LINE_ENDS:
        return True
    return len(text) > MAX_SHORTENED and _SENTENCES.search(text) is not None
