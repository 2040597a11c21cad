"""Words that are more than letters: numbers, versions, dates, paths, flags, and names such as C# and .NET.

A *run* is what stands between blanks and other separators, such as ``src/app/main.py`` or ``--dry-run``. It is a word
as it is written, next to the words of its pieces.
"""

import re
from collections.abc import Iterator
from typing import Final

from querymill_workers.text.scripts import SPACED

#: Characters that may stand in a run beside letters, marks and digits. The last one must be a hyphen.
JOINTS: Final = "_@$./+#-"
_W: Final = f"[{SPACED}]"
_NUMBERS: Final = "|".join((
    "0,[0-9]+",  # 0,125
    r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?",  # 1,234.5
    r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?",  # 12,34,567.8
    r"[0-9]{1,3}(?:'[0-9]{3})+(?:[.,][0-9]+)?",  # 1'234,5
    r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+",  # 1.234,5
    r"[0-9]{1,3}(?:_[0-9]{3})+(?:\.[0-9]+)?",  # 1_234.5
    "[0-9]+,[0-9]{1,2}",  # 12,5
))  # fmt: skip
# A number that is written with separators. A list such as 1,2,3 or 2020,2021 is none.
_NUMBER: Final = f"(?<!{_W})(?<![0-9][.,'_])(?:{_NUMBERS})(?![0-9]|[.,'_][0-9])"
_NAME: Final = f"{_W}+(?:(?:[.\u200c]|_+){_W}+)*"
_NUMBER_OR_NAME: Final = re.compile(f"(?P<number>{_NUMBER})|(?P<name>{_NAME})")
_NAMES: Final = re.compile(_NAME)
_COMMA_OF_DECIMALS: Final = re.compile("0,[0-9]+|[0-9]+,[0-9]{1,2}")

# --dry-run, @app.task, @scope/package, $HOME, .NET, .gitignore
_MARKED: Final = re.compile(
    f"--{_W}[{SPACED}_-]*|\\$(?![0-9])[{SPACED}_]+"
    f"|@(?![0-9]){_W}(?:[{SPACED}_-]|[./](?={_W}))*|\\.(?![0-9]){_W}(?:[{SPACED}_-]|\\.(?={_W}))*"
)
# C++, C++17, C#, F#
_SIGNED: Final = re.compile(
    f"(?<![{SPACED}.]){_W}++(?:\\.{_W}++)*+(?:\\+\\+(?![^\\W0-9_]|[_+])|(?<!{_W}{_W})#(?![^\\W0-9_]|[_#])|#(?!{_W}|[_#]))"
)
_DATE: Final = re.compile(
    "(?<![0-9./-])(?:[0-9]{4}([/-])[0-9]{1,2}\\1[0-9]{1,2}|[0-9]{1,2}([/-])[0-9]{1,2}\\2[0-9]{4})(?![0-9]|[/-][0-9])"
)
_DOTTED_DATE: Final = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}|[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}")
_SEGMENT: Final = re.compile(f"[{SPACED}_@.+#-]*{_W}[{SPACED}_@.+#-]*")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}")
_LETTER: Final = re.compile(r"[^\W0-9_]")
#: A number of more parts is no version.
_MOST_PARTS: Final = 6
#: So many segments make a path, whatever they are called.
_SEGMENTS: Final = 3
# 3.11 in python3.11, 1.2.3 in v1.2.3 and in 1.2.3rc1
_VERSION: Final = re.compile(r"[^\W0-9_]*([0-9]++(?:\.[0-9]++)++)")


def pieces_of(run: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a run, each with whether it is a number that is written with separators."""
    if "," in run or "'" in run or ("_" in run and run[0].isdigit()):
        yield from ((piece[0], piece.lastgroup == "number") for piece in _NUMBER_OR_NAME.finditer(run))
    else:
        yield from ((name, False) for name in _NAMES.findall(run))


def forms_of(run: str) -> list[str]:
    """Return the words that a run is as it is written, beside those of its pieces.

    ``--dry-run``, ``@task``, ``$HOME`` and ``.NET`` keep their mark, ``C++`` and ``F#`` their sign, and a path and a
    date are whole: ``./src/main.py`` gives ``src/main.py``.
    """
    found = [marked[0].rstrip("_-")] if run[0] in "-@$." and (marked := _MARKED.match(run)) else []
    found += [signed[0] for signed in _SIGNED.finditer(run)] if "+" in run or "#" in run else []
    if "/" in run or "-" in run:
        found += [date[0] for date in _DATE.finditer(run)]
    path = _path_of(run) if "/" in run else None
    return found if path is None or path in found else [*found, path]


def _path_of(run: str) -> str | None:
    """Return a path without what leads to its root; None for what has slashes but is no path, such as and/or."""
    path = run.lstrip("./+#$-").rstrip("./+#$@_-")
    if not path.strip("@") or _LETTER.search(path) is None:
        return None
    path = f".{path}" if run.startswith(f".{path[:1]}") else path
    segments = path.split("/")
    is_path = len(segments) >= _SEGMENTS or (
        len(segments) > 1 and (run.startswith(("/", "./", "../")) or _EXTENSION.search(segments[-1]) is not None)
    )
    return path if is_path and all(map(_SEGMENT.fullmatch, segments)) else None


def number_of(written: str) -> str:
    """Return a number without its separators and with a point before its decimals: 1.234,5 gives 1234.5."""
    *groups, last = re.split("[.,'_]", written)
    mark = written[-len(last) - 1]
    others = set(re.findall("[.,'_]", written[: -len(last) - 1]))
    is_decimal = mark == "." or (mark == "," and (bool(others - {","}) or _is_decimal(written)))
    return f"{''.join(groups)}{'.' if is_decimal else ''}{last}"


def _is_decimal(written: str) -> bool:
    return _COMMA_OF_DECIMALS.fullmatch(written) is not None


def versions_in(name: str) -> list[str]:
    """Return the versions that a dotted name begins with, from the longest: v3.11.2 gives 3.11.2 and 3.11."""
    found = _VERSION.match(name)
    return [] if found is None else [found[1], *shorter(found[1])]


def shorter(number: str) -> list[str]:
    """Return what a dotted number begins with: 3.11.2 gives 3.11, and 3.11 nothing.

    A date has its numbers instead: 15.03.2024 gives 15, 03 and 2024. Groups of three digits may be thousands, so
    1.234.567 has also 1234567.
    """
    if _DOTTED_DATE.fullmatch(number):
        return number.split(".")
    first, *groups = number.split(".", maxsplit=_MOST_PARTS)
    if len(groups) >= _MOST_PARTS:
        return []
    joined = [first + "".join(groups)] if len(groups) > 1 and len(first) <= 3 and {*map(len, groups)} == {3} else []
    return [*joined, *(".".join([first, *groups[:count]]) for count in range(len(groups) - 1, 0, -1))]
