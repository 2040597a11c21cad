"""The locale of who asks over HTTP: dates in figures are read as their ``Accept-Language`` has them."""

import re
from collections.abc import Iterator
from typing import Final

from fastapi import Request

from querymill.presenting.request_fields import filled_in
from querymill_shared.contracts.jobs import JobRequest

#: An entry of the header: a language with its regions and scripts, and how much it is preferred.
_ENTRY: Final = re.compile(
    r"[ \t]*(?P<tag>[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,5})[ \t]*"
    r"(?:;[ \t]*[qQ][ \t]*=[ \t]*(?P<weight>0(?:\.[0-9]*)?|1(?:\.0*)?)[ \t]*)?"
)
_REGION: Final = re.compile("[-_][A-Za-z]{2}(?![A-Za-z0-9])")
#: Entries that are looked at.
_MAX_ENTRIES: Final = 50


def in_callers_locale(request: Request, asked: JobRequest) -> JobRequest:
    """Return what is asked in the locale of the caller's language, unless it names a locale or needs none."""
    locale = locale_of(",".join(request.headers.getlist("accept-language")))
    return filled_in(asked, {"locale": locale})


def locale_of(accepted: str) -> str | None:
    """Return the locale that a header prefers, None if it says none. What is malformed in it is ignored.

    It is the language that is preferred most, with its region, even if that is named later: a browser may say
    ``en, en-GB;q=0.9``.

    >>> locale_of("de;q=0.5, en, en-GB;q=0.9")
    'en-GB'
    """
    tags = [tag for _, tag in sorted(_weighted(accepted), key=lambda entry: -entry[0])]
    if not tags:
        return None
    language = _language(tags[0])
    alike = [tag for tag in tags if _language(tag) == language]
    return next((tag for tag in alike if _REGION.search(tag)), tags[0])


def _weighted(accepted: str) -> Iterator[tuple[float, str]]:
    for entry in accepted.split(",", _MAX_ENTRIES)[:_MAX_ENTRIES]:
        found = _ENTRY.fullmatch(entry)
        weight = float(found["weight"] or 1) if found is not None else 0.0
        if found is not None and weight > 0:
            yield weight, found["tag"]


def _language(tag: str) -> str:
    return re.split("[-_]", tag)[0].lower()
