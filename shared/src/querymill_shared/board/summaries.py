"""Summaries: what a caller sees of a job at a glance, without its steps and hits."""

from dataclasses import replace
from typing import Any

from querymill_shared.board import keys
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.picture import CANCELLED, Record
from querymill_shared.board.replies import MALFORMED, pairs, record_of
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.values import value


@value
class JobSummary:
    """The record of a job, and the ids of the first and the last event that its stream holds, "" if there is none."""

    record: Record
    first: str
    last: str


def summary(job_id: str) -> ScriptCall[JobSummary]:
    """Return the summary of a job as its own caller sees it.

    Raises (when parsed):
        UnknownJob: No job has this id, or its caller has released it.
        UnreadableJob: The record is malformed.
    """

    def parse(returned: list[Any]) -> JobSummary:
        fields, first, last = returned
        if not fields:
            raise UnknownJob(job_id)
        try:
            record = record_of(pairs(fields), job_id)
        except MALFORMED as error:
            raise UnreadableJob(job_id, f"its record is malformed ({type(error).__name__})") from error
        if record.is_released:
            raise UnknownJob(job_id)
        if record.left is not None:
            record = replace(record, state="cancelled", reason=CANCELLED, ended=record.left)
        return JobSummary(record, first, last)

    return ScriptCall("summary", keys.of_job(job_id, "job", "events"), [], parse)


def record_if_there(job_id: str) -> ScriptCall[Record | None]:
    """Return the record of a job as its own caller sees it, None if it is gone or cannot be read."""
    call = summary(job_id)

    def parse(returned: list[Any]) -> Record | None:
        try:
            return call.parse(returned).record
        except (UnknownJob, UnreadableJob):
            return None

    return ScriptCall(call.script, call.keys, call.args, parse)
