"""Values: plain data that is compared by what it holds, and that nobody changes."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(of: type[T]) -> type[T]:
    """Make a class a dataclass with slots and a hash, whose fields the type checker lets nobody assign.

    Nothing stops an assignment at run time. ``dataclass(frozen=True)`` would, but then an instance takes three times as
    long to make, and a worker makes dozens for each step.
    """
    return dataclass(slots=True, unsafe_hash=True)(of)
