"""The lexicon of a worker: the tables of the package, and the table that a setting names."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from querymill_workers.text.lexicon import DOMAINS, LexiconRow, bundled, own_rows
from querymill_workers.text.thesaurus import Thesaurus


@cache
def thesauri(path: str = "") -> Mapping[str, Thesaurus]:
    """Return what each retriever adds to the words of a request. The rows of a file, if one is given, come first.

    Raises:
        ValueError: The file cannot be read, or one of its rows breaks a rule.
    """
    rows = [*_of_setting(path), *bundled()]
    return {domain: Thesaurus(row for row in rows if row.is_of(domain)) for domain in DOMAINS}


def _of_setting(path: str) -> list[LexiconRow]:
    if not path:
        return []
    try:
        return own_rows(Path(path).read_text(encoding="utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"QUERYMILL_LEXICON: {path}: must be UTF-8; save it as plain text in UTF-8") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"QUERYMILL_LEXICON: {error}") from error
