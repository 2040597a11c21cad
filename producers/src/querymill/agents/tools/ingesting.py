"""The tool ``ingest``."""

import asyncio
import json
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querymill.agents.access import PATIENCE_S, Access, Running
from querymill.agents.tools.faults import Fault, listed, of_rules, quoted
from querymill.agents.tools.replies import Entry, compose
from querymill.ingesting.jsonl import Lines
from querymill.ingesting.kinds import KINDS
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


class Arguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    collection: str
    kind: Retriever
    documents: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    vectors: bool = False


async def call(access: Access, arguments: Arguments) -> str:
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
    asked = _requests(lines.asking_for_vectors() if arguments.vectors else lines, arguments)
    jobs = await asyncio.gather(*(access.submit(cast("JobRequest", request)) for _, request in asked))
    told = await asyncio.gather(*(_outcome(job) for job in jobs))
    entries = [
        Entry(f"{Place(arguments.kind, arguments.collection, document)}: {said} (job {job.id})")
        for (document, _), said, job in zip(asked, told, jobs, strict=True)
    ]
    by_meaning = "" if lines.makes_vectors_if_asked and not arguments.vectors else ", by meaning shortly after"
    head = f"{len(entries)} documents were accepted; they are found by their words at once{by_meaning}."
    return compose(lambda _: head, entries, foot=lambda _: "", max_tokens=MAX_TOKENS)


def _requests(lines: Lines[Any], arguments: Arguments) -> list[tuple[str, Any]]:
    """Make a request for each document, with the id that the document will have.

    Raises:
        Fault: One breaks a rule, or two have one id.
    """
    requests: list[tuple[str, Any]] = []
    faults: list[str] = []
    for number, document in enumerate(arguments.documents, start=1):
        try:
            request = lines.request_of(json.dumps(document).encode(), arguments.collection)
        except ValidationError as error:
            faults.append(f"document {number}: {of_rules(error, below=lines.place)}")
        else:
            requests.append((lines.document_of(request), request))
    if faults:
        raise Fault(f"nothing was stored. {'. '.join(faults[:5])}")
    if len({document for document, _ in requests}) < len(requests):
        raise Fault("nothing was stored. Two documents have the same id; send one of them")
    return requests


async def _outcome(job: Running) -> str:
    try:
        result: Any = await job.result(PATIENCE_S)
    except JobEnded as error:
        return f"failed: {error.reason}"
    except TimeoutError:
        return "accepted, not stored yet; ingestion continues"
    return _said(result)


def _said(result: Any) -> str:
    outcome = getattr(result, "outcome", None)
    return str(outcome) if outcome is not None else "stored" if result.complete else "stored in part"
