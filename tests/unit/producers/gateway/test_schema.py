"""The joining of schemas into one document."""

from typing import Any

import pytest

from querymill.gateway.schema import _join

EVENT = {"properties": {"type": {"const": "cancelled"}}}


def test_a_name_does_not_stand_for_two_models() -> None:
    schemas: dict[str, Any] = {"Cancelled": {"properties": {"job_id": {}, "cancelled": {}}}}
    with pytest.raises(ValueError, match="two models have the name Cancelled"):
        _join(schemas, {"Cancelled": EVENT})


def test_a_variant_of_the_same_model_is_replaced() -> None:
    schemas: dict[str, Any] = {"Cancelled": {"properties": {"type": {}}}}
    _join(schemas, {"Cancelled": EVENT})
    assert schemas == {"Cancelled": EVENT}
