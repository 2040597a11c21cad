"""What became of documents: counted by outcome, and named where something went wrong."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, TypeVar

from querymill.ingesting.jsonl import BadLine
from querymill.ingesting.path_options import UnreadPath
from querymill.ingesting.submitting import LoadProgress

#: Failed documents, and bad lines, that are named; of more the number is known.
NAMED: Final = 1_000
E = TypeVar("E", LoadProgress, BadLine, UnreadPath)


@dataclass(slots=True)
class Ingestion:
    """The outcomes of documents. However many documents there are, it stays small.

    ``outcomes`` counts them by outcome: those of the results, such as "ingested" and "unchanged", "failed", and "bad"
    for lines that break a rule. ``parts`` counts what is stored of them. Of a path, "unread" counts the files that
    should have been read, "left out" those that are passed over by rule, and "dropped" those that were gone. The first
    1,000 ``failed`` documents, ``bad`` lines and ``unread`` files are named. ``remarks`` say what of documents was left
    out or read otherwise, by the file: of the first 1,000 files of which there is anything to say.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    failed: list[LoadProgress] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    unread: list[UnreadPath] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether everything was loaded that should have been."""
        return not self.failed and not self.bad and not self.outcomes["unread"]

    def add(self, outcome: LoadProgress) -> None:
        """Count a document."""
        if outcome.result is None:
            self._keep(self.failed, outcome, "failed")
        else:
            self.outcomes[outcome.result.outcome] += 1
            self.parts += outcome.result.total

    def add_bad(self, line: BadLine) -> None:
        """Count a bad line."""
        self._keep(self.bad, line, "bad")

    def add_unread(self, unread: UnreadPath) -> None:
        """Count a file that was not read."""
        self._keep(self.unread, unread, "unread" if unread.failed else "left out")

    def add_remarks(self, place: str, remarks: list[str]) -> None:
        """Note what of a file was left out or read otherwise."""
        if remarks and len(self.remarks) < NAMED:
            self.remarks[place] = remarks

    def _keep(self, named: list[E], entry: E, outcome: str) -> None:
        self.outcomes[outcome] += 1
        if len(named) < NAMED:
            named.append(entry)
