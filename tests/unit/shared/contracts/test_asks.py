"""Every kind of request names the result that answers it, and every result has its request."""

from typing import ForwardRef, get_args, get_origin

from pydantic import BaseModel

from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.results import Asks


def answered_with(request: type[BaseModel]) -> str:
    (asks,) = [base for base in request.__orig_bases__ if get_origin(base) is Asks]  # type: ignore[attr-defined]
    (result,) = get_args(asks)
    assert isinstance(result, ForwardRef)
    return result.__forward_arg__


def test_every_request_names_a_result_of_the_union_and_none_is_left() -> None:
    named = {answered_with(request) for request in get_args(JobRequest)}
    assert named == {result.__name__ for result in get_args(AnyResult)}
