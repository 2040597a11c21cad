"""Units that several settings share."""

from typing import Annotated

from pydantic import Field

Seconds = Annotated[float, Field(gt=0)]
