"""What the command line must know of a retriever."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from querymill.cli import screen
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.results import Asks, JobResult

R = TypeVar("R", bound=JobResult)


class LoadCommand(Protocol):
    """A command that ingests what is at a path; it prints what was loaded, in its own way."""

    def __call__(
        self, path: Path, collection: str, *, as_json: bool, include_secrets: bool = False, vectors: bool = False
    ) -> None:
        """Ingest it; known secrets only with ``include_secrets``, vectors are made with ``vectors``."""
        ...


class Read(Protocol):
    """Reads what the options of a search gave."""

    def __call__(self, given: dict[str, Any], *, with_file: bool) -> dict[str, Any]:
        """Return the fields of the request that they mean."""
        ...


def _as_given(given: dict[str, Any], *, with_file: bool) -> dict[str, Any]:  # noqa: ARG001
    return given


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A step of the demo: ``show`` prints what happens, and returns the results."""

    heading: str
    show: Callable[[Querymill, Path, Console], Sequence[BaseModel]]


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """A retriever: its search and the result, its command, its screen, how it is loaded, and its part of the demo.

    ``help`` is that of ``querymill search NAME``, whose options are the fields of the search; ``flags`` names those
    that are called otherwise. ``read`` returns the fields that are meant by those that were given; it is told whether
    a request file has others. ``follow`` shows a search while it runs, ``show`` its result. ``load`` ingests a path in
    a way of its own; without it, JSON lines are ingested.
    """

    loadable: Loadable
    search: type[Asks[R]]
    result: type[R]
    help: str
    show: Callable[[Console, R], None]
    demo: tuple[DemoStep, ...]
    flags: Mapping[str, str] = field(default_factory=dict)
    read: Read = _as_given
    follow: Callable[[Console, str, Iterable[Event]], None] = screen.follow
    load: LoadCommand | None = None

    @property
    def name(self) -> str:
        """The name of the retriever."""
        return self.loadable.name
