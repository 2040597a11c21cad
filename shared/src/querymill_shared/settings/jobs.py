"""How long jobs are tried, held and kept."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings

from querymill_shared.settings.units import Seconds


class JobSettings(BaseSettings):
    """How long jobs are tried, held and kept."""

    querymill_lease_s: Annotated[
        Seconds,
        Field(
            le=10,
            description="after this long without a heartbeat of its worker, a step is given to another",
        ),
    ] = 4.0
    querymill_ring_grace_s: Annotated[
        Seconds,
        Field(
            description="a bell that no worker picked up for this long is rung again",
        ),
    ] = 2.0
    querymill_max_attempts: Annotated[
        int,
        Field(
            ge=1,
            description="attempts of a step: its failures and the deaths of its workers count, outages do not",
        ),
    ] = 4
    querymill_outage_patience_s: Annotated[
        Seconds,
        Field(
            description="how long a job without a deadline waits for stores and providers that are away, or for a"
            " worker that can read it, before it is put on the dead-letter list",
        ),
    ] = 6 * 3600.0
    querymill_result_ttl_s: Annotated[
        Seconds,
        Field(
            description="how long a finished job stays on the board",
        ),
    ] = 3600.0
    querymill_trail_days: Annotated[
        float,
        Field(
            ge=0,
            le=90,
            description="how many days it can be seen what a job did, after its question and result are gone: its"
            " steps, attempts, waits, codes and costs, about 1 kB; 0 keeps none",
        ),
    ] = 7.0
    querymill_trails: Annotated[
        int,
        Field(ge=0, le=100_000_000, description="jobs of which that is kept, at most: the latest"),
    ] = 100_000
