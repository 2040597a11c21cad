"""What is kept of an ingestion for people: its jobs and what was refused, for a week."""

from typing import Annotated, Final

from pydantic import Field

from querymill_shared.contracts.fields import CollectionName, Contract, Written
from querymill_shared.contracts.filters import Retriever

#: Jobs of one record, and refused lines that are named in it.
MAX_JOBS: Final = 10_000
MAX_REJECTED: Final = 100
#: Characters of a refused line's field and rule that are kept.
FIELD_CHARS: Final = 200
RULE_CHARS: Final = 300

JobId = Annotated[
    str, Field(description="id of a job"), Written(r"^[0-9a-f]{32}$", "must be the 32 digits and letters of a job's id")
]


class BatchJob(Contract):
    """A job of an ingestion."""

    job_id: JobId
    documents: Annotated[int, Field(ge=1, description="how many documents it ingests")]


class RefusedLine(Contract):
    """What was not accepted."""

    line: Annotated[int, Field(ge=0, description="number of the line from 1; 0 for a file")] = 0
    field: Annotated[str, Field(max_length=FIELD_CHARS, description="field that breaks the rule, or the file")] = ""
    rule: Annotated[str, Field(max_length=RULE_CHARS, description="rule that it breaks")]


class KeptBatch(Contract):
    """How far an ingestion is."""

    kind: Annotated[Retriever, Field(description="kind of its documents")]
    collection: Annotated[CollectionName, Field(description="collection that they go into")]
    jobs: Annotated[tuple[BatchJob, ...], Field(max_length=MAX_JOBS, description="jobs so far")] = ()
    rejected: Annotated[int, Field(ge=0, description="how many lines or files were not accepted")] = 0
    first_rejected: Annotated[
        tuple[RefusedLine, ...], Field(max_length=MAX_REJECTED, description="the first of them")
    ] = ()
    is_open: Annotated[bool, Field(description="whether more is read")] = False
