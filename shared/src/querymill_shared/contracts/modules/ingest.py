"""The `ingest_module` kind: a code document in, searchable by its modules and words."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import (
    FilePath,
    Lane,
    PageText,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult

#: A document's ``faiss_id`` if it is not None, else its ``file_path``. An id of 0 is an id.
DocumentId = Annotated[int, Field(strict=True)] | str


def _without_bare_vtk(names: object) -> object:
    """Pass over the bare word ``vtk``, which is never a module."""
    if not isinstance(names, list | tuple):
        return names
    return [name for name in names if not (isinstance(name, str) and _is_bare(name))]


def _is_bare(dotted: str) -> bool:
    return dotted.rpartition(".")[2].lower() == "vtk"


#: Dotted ASCII names: what a document's module may be called.
ModuleName = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$"),
]


class MetaInfo(Described):
    """What is known about a document's code; fields we do not know are kept as metadata."""

    vtkjs_modules: Annotated[
        tuple[ModuleName, ...], Field(min_length=1, max_length=500), BeforeValidator(_without_bare_vtk)
    ]
    description: PageText = ""


class ModuleDocument(Described):
    """A code document as it is ingested; fields we do not know are kept as metadata."""

    faiss_id: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63)] | None = None
    file_path: FilePath
    code: PageText
    meta_info: MetaInfo

    @property
    def document(self) -> int | str:
        """The document's id."""
        return self.file_path if self.faiss_id is None else self.faiss_id

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The fields we do not know."""
        own = dict(self.model_extra or {})
        return own | ({"meta_info": self.meta_info.model_extra} if self.meta_info.model_extra else {})


class IngestModule(Request, Asks["IngestModuleResult"]):
    """Take one code document in. Idempotent by content."""

    kind: Literal["ingest_modules"] = "ingest_modules"
    lane: Lane = Lane.BULK
    document: ModuleDocument
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step."""
        return ("ingest",)


class IngestModuleResult(JobResult):
    """What ingestion did; ``outcome`` is "unchanged" when the same content was already there."""

    kind: Literal["ingest_modules"] = "ingest_modules"
    document: DocumentId
    outcome: Literal["ingested", "unchanged"]
