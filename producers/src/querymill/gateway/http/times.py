"""How times are written over HTTP."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

#: Always with milliseconds and in UTC, so that times compare as texts too.
Time = Annotated[
    datetime,
    PlainSerializer(lambda time: time.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def moment(seconds: float | None) -> datetime | None:
    """Return a time in seconds since the epoch as a time in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
