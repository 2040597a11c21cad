"""Puts simulated threads, clocks and chances in the places of the originals, in all modules of Querymill."""

import os
import queue
import random
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Final

from querymill_shared.board import calls
from querymill_shared.board.replies import request_of
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.counters import FleetCounters
from querymill_workers import wiring
from tests.simulation.threads import (
    OF_THREADING,
    BoundedSemaphore,
    Future,
    SimpleQueue,
    monotonic,
    random_bytes,
    running,
    sleep,
    thread_time,
    wall,
)

_CLOCKS: Final[Mapping[str, Callable[..., Any]]] = {
    "monotonic": monotonic, "time": wall, "sleep": sleep, "thread_time": thread_time,
}  # fmt: skip


def _modules() -> list[types.ModuleType]:
    return [module for name, module in sorted(sys.modules.items()) if name.startswith("querymill")]


def _functions() -> Iterator[types.FunctionType]:
    """Yield the functions and methods of Querymill."""
    for module in _modules():
        for value in list(vars(module).values()):
            held = list(vars(value).values()) if isinstance(value, type) else [value]
            yield from (each for each in held if isinstance(each, types.FunctionType))


def _has_clock(values: Sequence[Any], clocks: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, types.BuiltinFunctionType) and value in clocks for value in values)


def _instead(value: Any, clocks: Mapping[Any, Any]) -> Any:
    """Return what stands for a clock that is the default of a parameter."""
    return clocks.get(value, value) if isinstance(value, types.BuiltinFunctionType) else value


def _stand_in(name: str, module: types.ModuleType, instead: Mapping[str, Any]) -> types.ModuleType:
    found = types.ModuleType(name)
    found.__dict__.update({**vars(module), **instead})
    return found


class _Replacements:
    """What was replaced, to be put back."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def replace(self, place: Any, name: str, instead: Any) -> None:
        self._replaced.append((place, name, getattr(place, name)))
        setattr(place, name, instead)

    def put_back(self) -> None:
        for place, name, original in reversed(self._replaced):
            setattr(place, name, original)


def _replace_threads(replacements: _Replacements) -> None:
    modules = {
        threading: _stand_in("threading", threading, OF_THREADING),
        queue: _stand_in("queue", queue, {"SimpleQueue": SimpleQueue}),
    }
    named = {
        threading.BoundedSemaphore: BoundedSemaphore, queue.SimpleQueue: SimpleQueue, futures.Future: Future,
    }  # fmt: skip
    for module in _modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType) and value in modules:
                replacements.replace(module, name, modules[value])
            elif isinstance(value, type) and value in named:
                replacements.replace(module, name, named[value])


def _replace_clocks(replacements: _Replacements) -> None:
    clocks = {getattr(time, name): instead for name, instead in _CLOCKS.items()}
    for function in _functions():
        named, others = function.__kwdefaults__ or {}, function.__defaults__ or ()
        if _has_clock([*named.values(), *others], clocks):
            kept = {name: _instead(value, clocks) for name, value in named.items()}
            replacements.replace(function, "__kwdefaults__", kept)
            replacements.replace(function, "__defaults__", tuple(_instead(value, clocks) for value in others))
    for name, instead in _CLOCKS.items():
        replacements.replace(time, name, instead)


def _read_request(text: str) -> tuple[JobRequest | None, str]:
    """Read a request as the release of the process does: a kind that it does not know is as one that nobody knows."""
    unknown = running().current.process.unknown
    return request_of(text.replace(f'"kind":"{unknown}"', '"kind":"of a later release"') if unknown else text)


@contextmanager
def installed() -> Iterator[None]:
    """Put what is simulated in the place of the originals, in the modules of Querymill that are imported by now."""
    replacements = _Replacements()
    _replace_threads(replacements)
    _replace_clocks(replacements)
    replacements.replace(calls, "request_of", _read_request)
    replacements.replace(wiring, "fleet_counters", lambda: FleetCounters(None))
    for place, name in ((os, "urandom"), (random, "_urandom")):
        replacements.replace(place, name, random_bytes)
    try:
        yield
    finally:
        replacements.put_back()
