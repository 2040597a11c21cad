"""The step names of a file search; they are written and read here and nowhere else.

search-1-words, search-1-vectors, search-1-patterns   the searches of the first round
search-2-01, search-2-02                              the searches of a later round, numbered
evaluate-1-01                                         a shard of a round's candidates, numbered
plan-1                                                the decision after a round
"""

import re
from typing import Final, Literal, Self

from querymill_shared.values import value

FileStage = Literal["search", "evaluate", "plan"]
#: The searches of the first round.
FirstSearch = Literal["words", "vectors", "patterns"]

_NAME: Final = re.compile("([a-z]+)-([1-9][0-9]{0,3})(?:-([a-z]+|[0-9]{2,4}))?")


@value
class FileStep:
    """A step of a file search. Rounds and numbered parts count from 1; a plan has no part."""

    stage: FileStage
    round: int
    part: FirstSearch | int | None = None

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a step's name; return None if this release does not know the name."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        stage, number, part = found.groups()
        match stage, part:
            case "search", "words" | "vectors" | "patterns":
                step = cls("search", int(number), part)
            case "search" | "evaluate", str() if part.isdigit() and int(part) > 0:
                step = cls(stage, int(number), int(part))
            case "plan", None:
                step = cls("plan", int(number))
            case _:
                return None
        return step if str(step) == name else None  # "evaluate-1-001" is another name for the same place

    def __str__(self) -> str:
        match self.part:
            case None:
                return f"{self.stage}-{self.round}"
            case int():
                return f"{self.stage}-{self.round}-{self.part:02}"
            case _:
                return f"{self.stage}-{self.round}-{self.part}"
