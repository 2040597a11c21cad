import importlib
import pkgutil
from types import ModuleType, UnionType
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from querymill_shared import contracts
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.kinds import KindResult, KindSearch
from querymill_shared.queues import Queue

FOLDERS = [module.name for module in pkgutil.iter_modules(contracts.__path__) if module.ispkg]


def union_of(folder: str, ending: str) -> set[Any]:
    module: ModuleType = importlib.import_module(f"querymill_shared.contracts.{folder}")
    (union,) = [value for name, value in vars(module).items() if name.endswith(ending) and isinstance(value, UnionType)]
    return set(get_args(union))


def kind_of(contract: Any) -> str:
    return str(contract.model_fields["kind"].default)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_job_of_a_folder_is_a_job(folder: str) -> None:
    assert union_of(folder, "Request") <= set(get_args(JobRequest))
    assert union_of(folder, "JobResult") <= set(get_args(AnyResult))


def test_every_folder_has_one_search_named_after_it() -> None:
    assert {kind_of(search) for search in get_args(KindSearch)} == set(FOLDERS)
    assert {kind_of(result) for result in get_args(KindResult)} == set(FOLDERS)


def test_kinds_are_distinct_and_every_request_has_a_result_of_its_kind() -> None:
    kinds = [kind_of(request) for request in get_args(JobRequest)]
    assert len(set(kinds)) == len(kinds)
    assert {kind_of(result) for result in get_args(AnyResult)} <= set(kinds)


def test_every_job_names_the_queue_of_its_steps() -> None:
    assert {type(request.queue) for request in get_args(JobRequest)} == {Queue}


BULK = [request for request in get_args(JobRequest) if request.model_fields["lane"].default is Lane.BULK]


@pytest.mark.parametrize("request_type", get_args(JobRequest))
def test_only_kinds_that_load_documents_are_kept_out_of_the_lane_for_questions(request_type: Any) -> None:
    # The other fields of a kind are none of this test's business.
    with pytest.raises(ValidationError) as caught:
        request_type.model_validate({"lane": "interactive", "collection": "c", "no field": 1})
    rules = [part["msg"] for part in caught.value.errors() if part["loc"] == ("lane",)]
    named = ["Value error, must be normal or bulk, because interactive is kept for questions"]
    assert rules == (named if request_type in BULK else [])
