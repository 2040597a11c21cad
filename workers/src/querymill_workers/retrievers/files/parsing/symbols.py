"""Gathering the symbols of a file: each definition, and each use once with the number of its occurrences."""

from dataclasses import replace

from querymill_workers.retrievers.files.rules.code import Symbol

#: Longer names are ignored: nobody searches for them.
MAX_NAME_CHARS = 200


class Gathered:
    """The symbols of one file."""

    def __init__(self) -> None:
        self._definitions: list[Symbol] = []
        self._uses: dict[tuple[str, str, str], Symbol] = {}

    def add(self, symbol: Symbol) -> None:
        """Add a symbol, or count another occurrence of a use that was added before."""
        if not 0 < len(symbol.name) <= MAX_NAME_CHARS or len(symbol.qualifier) > MAX_NAME_CHARS:
            return
        if symbol.role == "definition":
            self._definitions.append(symbol)
            return
        key = (symbol.role, symbol.name, symbol.qualifier)
        known = self._uses.get(key)
        self._uses[key] = symbol if known is None else replace(known, times=known.times + 1)

    def listed(self) -> list[Symbol]:
        """Return the symbols in the order of their lines."""
        return sorted({*self._definitions, *self._uses.values()}, key=_place)


def _place(symbol: Symbol) -> tuple[object, ...]:
    return (symbol.line, symbol.role, symbol.name, symbol.kind, symbol.end_line, symbol.qualifier)
