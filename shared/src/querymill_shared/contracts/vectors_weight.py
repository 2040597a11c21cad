"""The weight of vectors in a search that joins them with words."""

from typing import Annotated, Final

from pydantic import Field, FiniteFloat

from querymill_shared.contracts.fields import Request

#: More than the greatest estimate: words that weigh less than this beside vectors decide nothing.
MAX_WEIGHT: Final = 1_000


class WeighsVectors(Request):
    """Base class of searches that join the ranking by vectors and the ranking by words."""

    vectors_weight: Annotated[
        FiniteFloat | None,
        Field(
            ge=0,
            le=MAX_WEIGHT,
            description="weight of the vectors, beside 1 of the words; null: what they are estimated to be worth on the"
            " collection",
        ),
    ] = None
