"""What the command line must know of a retriever."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


class Load(Protocol):
    """A command that ingests what is at a path; it prints what was loaded, in its own way."""

    def __call__(
        self, path: Path, collection: str, *, as_json: bool, include_secrets: bool = False, vectors: bool = False
    ) -> None:
        """Ingest it; known secrets only with ``include_secrets``, vectors are made with ``vectors``."""
        ...


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A step of the demo: ``show`` prints what happens, and returns the results."""

    heading: str
    show: Callable[[Querymill, Path, Console], Sequence[BaseModel]]


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """A retriever: its search and the result, its options, its screen, how it is loaded, and its part of the demo.

    ``options`` is the signature of ``querymill search NAME``: its parameters are the options, its docstring is the
    help, and it returns the fields of the request that were given. ``follow`` shows a search while it runs, ``show``
    its result. ``load`` ingests a path in a way of its own; without it, JSON lines are ingested.
    """

    loadable: Loadable
    search: type[Asks[R]]
    result: type[R]
    options: Callable[..., dict[str, Any]]
    show: Callable[[Console, R], None]
    demo: tuple[DemoStep, ...]
    follow: Callable[[Console, str, Iterable[Event]], None] = screen.follow
    load: Load | None = None

    @property
    def name(self) -> str:
        """The name of the retriever."""
        return self.loadable.name
