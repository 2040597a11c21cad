"""`import querymill` gives a caller every type that a job is asked with, every event, result and error of it."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import querymill
from querymill import QuerymillError
from querymill_shared.contracts import errors
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.jobs import AnyResult, JobRequest


def parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """List the contracts that a type is made of, itself included."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from parts(field.annotation)
    for argument in get_args(annotation):
        yield from parts(argument)


PUBLIC: set[type[BaseModel]] = {*parts(JobRequest), *get_args(AnyResult), *parts(Event)}
ERRORS = {error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, QuerymillError)}


@pytest.mark.parametrize("contract", sorted(PUBLIC, key=attrgetter("__name__")))
def test_what_a_request_is_made_of_and_every_result_is_exported(contract: type[BaseModel]) -> None:
    assert contract.__name__ in querymill.__all__
    assert getattr(querymill, contract.__name__) is contract


@pytest.mark.parametrize("error", sorted(ERRORS, key=attrgetter("__name__")))
def test_every_error_of_a_job_is_exported(error: type[QuerymillError]) -> None:
    assert getattr(querymill, error.__name__) is error


def test_every_name_that_is_exported_exists() -> None:
    assert [name for name in querymill.__all__ if not hasattr(querymill, name)] == []
    assert querymill.__all__ == sorted(set(querymill.__all__))
