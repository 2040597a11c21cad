"""The tool ``ingest``."""

import asyncio
import json
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querymill.agents.access import PATIENCE_S, Access, Running
from querymill.agents.tools.faults import Fault, listed, of_rules, quoted
from querymill.agents.tools.replies import ReplyEntry, compose
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.ingesting.kinds import KINDS
from querymill.ingesting.submitting import Parcel, outcome_of_each, pack
from querymill.presenting.places import Place
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest

DESCRIPTION: Final = (
    "Store documents in a collection, each as `read` names its fields: reports pages [{page, text}], if known"
    " sha1, title, company; messages and conversations session_id, started_at, messages [{role, text}];"
    " files path, content; modules file_path, code, meta_info. The same content again changes nothing."
    " `vectors`: search files by meaning too."
)
MAX_DOCUMENTS: Final = 20
MAX_TOKENS: Final = 4_000


class IngestArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    collection: str
    kind: Retriever
    documents: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    vectors: bool = False


async def call(access: Access, arguments: IngestArguments) -> str:
    """Ingest documents, and tell what became of each.

    Raises:
        Fault: The caller may not see the collection, or a document breaks a rule; then none is stored.
    """
    known = await access.collections()
    if not access.may_name(arguments.collection):
        raise Fault(f"no collection {quoted(arguments.collection)}; you may use {listed(list(known))}")
    lines = next(kind for kind in KINDS if kind.name == arguments.kind).documents
    if arguments.vectors and not lines.makes_vectors_if_asked:
        raise Fault("nothing was stored. `vectors` is for files; the other kinds have them anyway")
    lines = lines.asking_for_vectors() if arguments.vectors else lines
    parcels = list(pack(_read(lines, arguments), lines.asking(arguments.collection)))
    jobs = await asyncio.gather(*(access.submit(cast("JobRequest", parcel.request)) for parcel in parcels))
    told = await asyncio.gather(*(_outcomes(*each) for each in zip(parcels, jobs, strict=True)))
    entries = [
        ReplyEntry(f"{Place(arguments.kind, arguments.collection, document)}: {said} (job {job.id})")
        for job, outcomes in zip(jobs, told, strict=True)
        for document, said in outcomes
    ]
    by_meaning = "" if lines.makes_vectors_if_asked and not arguments.vectors else ", by meaning shortly after"
    head = f"{len(entries)} documents were accepted; they are found by their words at once{by_meaning}."
    return compose(lambda _: head, entries, foot=lambda _: "", max_tokens=MAX_TOKENS)


def _read(lines: Lines[Any], arguments: IngestArguments) -> list[GoodLine[Any]]:
    """Read the documents.

    Raises:
        Fault: One breaks a rule, or two have one id.
    """
    read: list[GoodLine[Any]] = []
    faults: list[str] = []
    for number, document in enumerate(arguments.documents, start=1):
        line = json.dumps(document).encode()
        try:
            read.append(GoodLine(number, len(line), lines.document_of(line)))
        except ValidationError as error:
            faults.append(f"document {number}: {of_rules(error)}")
    if faults:
        raise Fault(f"nothing was stored. {'. '.join(faults[:5])}")
    if len({line.name for line in read}) < len(read):
        raise Fault("nothing was stored. Two documents have the same id; send one of them")
    return read


async def _outcomes(parcel: Parcel, job: Running) -> list[tuple[str, str]]:
    """Return what became of each document of a job, by its id."""
    try:
        result: Any = await job.result(PATIENCE_S)
    except JobEnded as error:
        said = f"failed: {error.reason}"
    except TimeoutError:
        said = "accepted, not stored yet; ingestion continues"
    else:
        return [
            (each.document, f"failed: {each.reason}" if each.outcome == "failed" else each.outcome)
            for each in outcome_of_each(parcel, result)
        ]
    return [(line.name, said) for line in parcel.lines]
