"""Defects that are put into the product on purpose: the simulation must see each of them."""

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from querymill_shared.board import scripts
from querymill_workers.dispatch import run_step
from querymill_workers.inference import account
from querymill_workers.versions import memory
from querymill_workers.versions.ports import Standing


@dataclass(frozen=True)
class Mutation:
    """A defect: in a script, a text that is replaced by another; elsewhere, what takes the place of an attribute."""

    name: str
    script: str = ""
    old: str = ""
    new: str = ""
    place: Any = None
    attribute: str = ""
    instead: Any = None


def _in_scripts() -> list[Mutation]:
    read = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text(encoding="utf-8"))
    return [Mutation(**written) for written in read["mutation"]]


def _drop_nothing(self: Any, version: Any) -> None:
    """Leave no tombstone."""
    self.written = None


def _pass(*_: Any) -> None:
    """Do nothing."""


def _in_account(name: str, old: str, new: str) -> Mutation:
    """Replace a text in the scripts of an account."""
    read = account._script.__wrapped__

    def changed(*names: str) -> str:
        return str(read(*names).replace(old, new))

    assert old in read("reserve") + read("report"), f"{name}: the script has changed"
    return Mutation(name, place=account, attribute="_script", instead=changed)


MUTATIONS: Final = (
    *_in_scripts(),
    Mutation("versions: a tombstone is dropped", place=memory._Entry, attribute="drop", instead=_drop_nothing),
    Mutation("versions: an older write replaces a newer", place=Standing, attribute="reaches_known", instead=True),
    Mutation("sweeper: a deadline is ignored", place=run_step, attribute="settle_at_deadline", instead=_pass),
    _in_account("account: a call is not charged", "\nspend(requests, at)\n", "\n"),
    _in_account("account: more is given back than was taken", "-tonumber(ARGV[2])", "-1"),
)  # fmt: skip


@contextmanager
def mutated(mutation: Mutation) -> Iterator[None]:
    """Have the product have a defect."""
    with ExitStack() as changes:
        if mutation.script:
            read = scripts._read

            def changed(name: str) -> str:
                text = read(name)
                if name != mutation.script:
                    return text
                assert mutation.old in text, f"{mutation.name}: the script has changed"
                return text.replace(mutation.old, mutation.new)

            changes.enter_context(patch.object(scripts, "_read", changed))
        else:
            changes.enter_context(patch.object(mutation.place, mutation.attribute, mutation.instead))
        _forget_scripts()
        try:
            yield
        finally:
            changes.close()
            _forget_scripts()


def _forget_scripts() -> None:
    for cached in (scripts.source, scripts.digest, scripts._definitions):
        cached.cache_clear()
