"""The words that rules read as data: tables of tab-separated values, whose first line names the columns.

``terms``
    One term, or several separated by ``|``.
``english``
    The English words, separated by blanks, that Chinese terms add to a request. Terms without any are synonyms of one
    another.
``use``
    What a list of words is for: ``stop`` (left out of every text and request), ``blank`` (left out of Chinese ones),
    ``question`` (says nothing of what a question is about), ``name`` (no name of a company), ``before`` (stands before
    one), ``technical``, and ``everyday`` (technical, and an everyday word too).
``domains``
    The retrievers that read the row, separated by blanks; ``*``: all that read the table.

Empty lines and lines that begin with ``#`` are no rows.
"""

import csv
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.text.languages import is_han

#: The retrievers that add words to a request; the others search for the words of the request alone.
DOMAINS: Final = ("conversations", "files", "modules")
EVERY: Final = "*"
Use = Literal["stop", "blank", "question", "name", "before", "technical", "everyday"]
_COLUMNS: Final = ("terms", "english", "domains")


@value
class LexiconRow:
    """A row of a table, its terms case-folded, and where it stands."""

    place: str
    terms: tuple[str, ...]
    domains: tuple[str, ...]
    english: tuple[str, ...] = ()
    use: str = ""

    def is_of(self, domain: str) -> bool:
        """Return whether a retriever reads the row."""
        return domain in self.domains or EVERY in self.domains


def bundled() -> list[LexiconRow]:
    """Read the translations and synonyms of the package."""
    return [*_bundled("zh_en"), *_bundled("synonyms")]


def listed(table: Literal["function_words", "technical_terms"], use: Use, domain: str) -> tuple[str, ...]:
    """Return the terms of a table of the package for one use of one retriever (or of every one, ``*``), in order."""
    return tuple(term for row in _bundled(table) if row.use == use and row.is_of(domain) for term in row.terms)


def rows_of(text: str, source: str, columns: Sequence[str] = ()) -> list[LexiconRow]:
    """Read a table. If ``columns`` are given, it has no others, and only ``english`` may be missing.

    Raises:
        ValueError: A line is not like the first one. The message names the source and the line.
    """
    reader = csv.reader(text.splitlines(), delimiter="\t", strict=True)
    header: list[str] = []
    rows = []
    try:
        for values in reader:
            place = f"{source} line {reader.line_num}"
            if not any(values) or values[0].startswith("#"):
                continue
            if not header:
                header = [name.strip() for name in values]
                if columns and {*header, "english"} != {*columns}:
                    raise ValueError(f"{place}: must name the columns {', '.join(columns)}, separated by tabs")
                continue
            if len(values) != len(header):
                raise ValueError(f"{place}: has {len(values)} columns, must have {len(header)}: {', '.join(header)}")
            rows.append(_row(place, dict(zip(header, values, strict=True))))
    except csv.Error as error:
        raise ValueError(f"{source} line {reader.line_num}: {error}; a quoted value must end on its line") from error
    if not header:
        raise ValueError(f"{source}: must begin with the names of its columns: {', '.join(columns)}")
    return rows


def own_rows(text: str, source: str) -> list[LexiconRow]:
    """Read a table of translations and synonyms that a user wrote.

    Raises:
        ValueError: A row breaks a rule. The message names the source, the line, the column, and the rule.
    """
    rows = rows_of(text, source, _COLUMNS)
    for row in rows:
        if complaint := _complaint(row):
            raise ValueError(f"{row.place}, column {complaint}")
    return rows


def _row(place: str, values: dict[str, str]) -> LexiconRow:
    terms = tuple(term.strip().casefold() for term in values["terms"].split("|"))
    english, use = tuple(values.get("english", "").split()), values.get("use", "").strip()
    return LexiconRow(place, terms, tuple(values["domains"].split()), english, use)


def _complaint(row: LexiconRow) -> str:
    """Return the column of a row that breaks a rule, and the rule, or "" if none does."""
    among = f"{', '.join(DOMAINS)}, or * for all of them"
    if not all(row.terms):
        return "terms: must not hold an empty term; separate terms by |"
    if not row.domains:
        return f"domains: must not be empty; name the retrievers that read the row: {among}"
    if unknown := [domain for domain in row.domains if domain not in {*DOMAINS, EVERY}]:
        return f"domains: {unknown[0]!r} is not one of {among}"
    if foreign := [word for word in row.english if not word.isascii()]:
        return f"english: {foreign[0]!r} must be an English word, in ASCII"
    if row.english and (latin := [term for term in row.terms if not is_han(term)]):
        return f"terms: {latin[0]!r} must be Chinese; list synonyms in this column and leave english empty"
    if not row.english and len({*row.terms}) == 1:
        return "terms: a row without English must hold two synonyms or more, separated by |"
    if not row.english and row.is_of("files") and (phrases := [term for term in row.terms if " " in term]):
        return f"terms: {phrases[0]!r} must be one word for files; name the other retrievers in domains"
    return ""


@cache
def _bundled(table: str) -> list[LexiconRow]:
    return rows_of((resources.files(__name__) / f"{table}.tsv").read_text(encoding="utf-8"), f"{table}.tsv")
