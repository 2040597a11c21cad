"""Why a part of a job is missing or had to be repeated, as a code. Sentences for people are made from codes."""

from typing import Annotated, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Growing

#: ``limit``: a rate limit, or the number of calls under way, allowed no call. ``deadline``: the time was up.
#: ``slow``: a model took longer than what can do without it waits, though the job had time.
#: ``provider_down``: a model's provider did not respond. ``provider_refused``: it responded, with nothing of use.
#: ``store_down``: a database or the board was away. ``pending``: something else has to come first, such as vectors.
#: ``cut``: the part is there, but was shortened. ``lost``: workers died. ``invalid``: the input breaks a rule.
#: ``budget``: the API key that pays has spent its budget of the day, or the part of it that this may use.
#: ``bug``: an internal error.
Code = Literal[
    "limit",
    "deadline",
    "slow",
    "provider_down",
    "provider_refused",
    "store_down",
    "pending",
    "cut",
    "lost",
    "invalid",
    "budget",
    "bug",
]

#: A code beside a reason. Not every reason has one.
OptionalCode = Annotated[
    Annotated[Code, Growing] | None, Field(description="why, as a code for programs; null: the reason has no code")
]
