"""The options of a search are derived from the fields of its request."""

from datetime import date
from typing import Annotated, Literal, get_args

import pytest
from pydantic import BaseModel, Field

from querymill.cli.options import given_fields, signature_of


class Asked(BaseModel):
    """A request with a field of each form."""

    limit: Annotated[int, Field(ge=1, le=2_000, description="number of hits")] = 5
    least: Annotated[float | None, Field(description="minimum; null = off")] = None
    name: Annotated[str | None, Field(description="a name")] = None
    day: Annotated[date | None, Field(description="a day")] = None
    parts: Annotated[tuple[Literal["a", "b"], ...], Field(description="what is searched")] = ()
    mode: Annotated[Literal["fast", "slow"], Field(description="fast: at once; slow: later")] = "fast"


OPTIONS = signature_of(Asked, {}).parameters


@pytest.mark.parametrize(
    ("name", "type_", "said"),
    [
        ("limit", int, "number of hits (1 to 2,000)"),
        ("least", str, "minimum; null = off"),
        ("name", str, "a name"),
        ("parts", list[str], "what is searched: a, b; may be repeated"),
        ("mode", str, "fast: at once; slow: later"),
    ],
)
def test_an_option_has_the_type_and_the_description_of_its_field(name: str, type_: type, said: str) -> None:
    optional, option = get_args(OPTIONS[name].annotation)
    assert optional == type_ | None
    assert option.help == said


def test_a_number_that_may_be_null_is_null_and_a_text_is_a_text() -> None:
    asked = {"least": "null", "name": "null", "limit": 3, "parts": [], "mode": None, "as_json": True}
    assert given_fields(asked, Asked) == {"least": None, "name": "null", "limit": 3}
