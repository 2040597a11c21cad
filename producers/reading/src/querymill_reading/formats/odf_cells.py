"""OpenDocument: the value of a cell whose file holds no text for people."""

import re
from typing import Any, Final

from querymill_reading.rules.number_formats import general

_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DURATION: Final = re.compile(r"(-?)P(?:(\d{1,7})D)?T(\d{1,7})H(\d{1,7})M(\d{1,7})(?:[.,]\d+)?S")


def value_of(cell: Any) -> str | None:
    """Return the value of a cell, or None if it has none."""
    if (truth := cell.get(f"{_OFFICE}boolean-value")) is not None:
        return str(truth).upper()
    if (day := cell.get(f"{_OFFICE}date-value")) is not None:
        return str(day).removesuffix("T00:00:00").replace("T", " ")
    if (length := cell.get(f"{_OFFICE}time-value")) is not None:
        return _time(length)
    if (text := cell.get(f"{_OFFICE}string-value")) is not None:
        return str(text)
    return _figure(cell.get(f"{_OFFICE}value"), cell.get(f"{_OFFICE}value-type"))


def _time(length: str) -> str:
    """Return a time, which is written as the length of a part of a day."""
    found = _DURATION.fullmatch(length)
    if found is None:
        return length
    sign, days, hours, minutes, seconds = found.groups()
    shown = f"{sign}{int(days or 0) * 24 + int(hours):02}:{int(minutes):02}"
    return f"{shown}:{int(seconds):02}" if int(seconds) else shown


def _figure(written: str | None, kind: str | None) -> str | None:
    try:
        return f"{general(float(written) * 100)}%" if written and kind == "percentage" else written
    except ValueError:
        return written
