"""The table of `make eval` names only kinds, fields and values that exist."""

import json

import pytest

from querymill_evaluation.cli.measuring import KINDS
from querymill_shared.contracts.jobs import validate_request
from tests.quality.stages import DEFAULTS, OF_EVAL, REQUESTS, SETS, STAGES, DevSet, Stage, request_fields


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: f"{stage.kind}: {stage.name}")
def test_a_stage_is_a_valid_request(stage: Stage) -> None:
    fields = request_fields(stage)
    assert set(fields) <= set(REQUESTS[stage.kind].model_fields)
    # Unknown fields and values are refused here.
    validate_request(json.dumps({"kind": stage.kind, "collection": "c", "query": "q"} | fields))
    for name in stage.options.keys() - fields.keys():
        assert stage.options[name] in OF_EVAL[stage.kind][name]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: f"{stage.kind}: {stage.name}")
def test_a_stage_is_compared_with_one_of_its_kind(stage: Stage) -> None:
    of_kind = [other for other in STAGES if other.kind == stage.kind]
    assert [other.name for other in of_kind].count(stage.name) == 1
    assert stage.against in {other.name for other in of_kind}
    assert not next(other for other in of_kind if other.name == stage.against).needs_chat


def test_every_kind_has_its_defaults_and_a_set() -> None:
    assert {stage.kind for stage in STAGES if stage.name == DEFAULTS} == set(KINDS) == set(REQUESTS)
    assert {chosen.kind for chosen in SETS} == set(KINDS)
    assert all(not stage.options for stage in STAGES if stage.name == DEFAULTS)


@pytest.mark.parametrize("chosen", SETS, ids=lambda chosen: chosen.label)
def test_a_set_is_asked_with_options_that_exist(chosen: DevSet) -> None:
    for name, value in chosen.options.items():
        assert value in OF_EVAL[chosen.kind][name]
    assert [other.label for other in SETS].count(chosen.label) == 1


def test_on_by_default_is_read_from_the_contract() -> None:
    assert Stage("messages", DEFAULTS).on_by_default
    # The field's own default is 60; the default ranking fills in 10.
    assert Stage("messages", "x", {"rrf_k": 10}).on_by_default
    assert not Stage("messages", "x", {"rrf_k": 60}).on_by_default
    assert not Stage("files", "x", {"channels": ["words", "vectors"]}).on_by_default


def test_what_a_stage_shares_with_the_one_before_it_does_not_count() -> None:
    on = {(stage.kind, stage.name) for stage in STAGES if stage.on_by_default}
    # Both have a scoring that is no default; what differs is the diversification.
    assert Stage("conversations", "x", {"scoring": "bm25", "diversify": False}, "words alone").on_by_default
    assert not Stage("conversations", "x", {"scoring": "bm25", "diversify": True}, "words alone").on_by_default
    assert ("messages", "+ words, 1 : 1") not in on
    assert {(kind, DEFAULTS) for kind in REQUESTS} <= on
