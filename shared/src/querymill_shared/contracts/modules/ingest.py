"""The `ingest_modules` kind: make code documents searchable by their modules and their text."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import (
    FilePath,
    PageText,
    Written,
)
from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks

#: An integer of 64 bits. It travels as a JSON number.
_INT64: Final = {
    "format": "int64",
    "description": "A JSON number with up to 19 digits. Read it as an integer: JSON.parse rounds beyond 2^53.",
}
#: A document's ``faiss_id`` if it is not None, else its ``file_path``. 0 is a valid id.
DocumentId = Annotated[int, Field(strict=True, json_schema_extra=_INT64)] | str


def _without_bare_vtk(names: object) -> object:
    """Drop the bare word ``vtk``, which is never a module."""
    if not isinstance(names, list | tuple):
        return names
    return [name for name in names if not (isinstance(name, str) and _is_bare(name))]


def _is_bare(dotted: str) -> bool:
    return dotted.rpartition(".")[2].lower() == "vtk"


def _at_least_one(names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a document without modules. A name that breaks a rule has been reported by then, and this is no second."""
    if not names:
        raise ValueError("must have at least one module other than vtk")
    return names


def _without_control_characters(path: str) -> str:
    """Refuse a path that could break lines of a prompt, a log or a terminal."""
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in path):
        raise ValueError("must not contain control characters")
    return path


#: The name of a module: ASCII identifiers, joined by dots.
ModuleName = Annotated[
    str,
    StringConstraints(max_length=300),
    Written(
        r"^[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*$",
        "must be the name of a module: letters (A to Z), digits, _ and $, perhaps with dots, such as vtk.ConeSource",
    ),
]


class MetaInfo(Described):
    """The modules and the description of a document's code. Unknown fields are stored as metadata.

    Attributes:
        vtkjs_modules: dotted names of the modules that the code uses; the bare word vtk does not count
        description: what the code does, in words, which is searched; may be empty
    """

    vtkjs_modules: Annotated[
        tuple[ModuleName, ...],
        Field(max_length=500),
        AfterValidator(_at_least_one),
        BeforeValidator(_without_bare_vtk),
    ]
    description: PageText = ""


class ModuleDocument(Described):
    """A code document to ingest. Unknown fields are stored as metadata.

    Attributes:
        faiss_id: id of the document, of which 0 is one, too; null makes file_path the id
        file_path: path of the code, without control characters; the id of a document without faiss_id
        code: text of the code, which is searched and returned
        meta_info: modules and description of the code
    """

    faiss_id: Annotated[int, Field(strict=True, ge=-(2**63), lt=2**63, json_schema_extra=_INT64)] | None = None
    file_path: Annotated[FilePath, AfterValidator(_without_control_characters)]
    code: PageText
    meta_info: MetaInfo

    @property
    def document(self) -> int | str:
        """The document's id: ``faiss_id`` if it is not None, else ``file_path``."""
        return self.file_path if self.faiss_id is None else self.faiss_id

    @property
    def document_id(self) -> str:
        """The document's id as text."""
        return str(self.document)

    @property
    def chars(self) -> int:
        """The length of its texts."""
        return len(self.code) + len(self.meta_info.description)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The unknown fields of the document and, under ``meta_info``, those of its ``meta_info``."""
        own = dict(self.model_extra or {})
        return own | ({"meta_info": self.meta_info.model_extra} if self.meta_info.model_extra else {})


class IngestModules(Ingest, Asks["IngestModulesResult"]):
    """Ingest code documents. What words stand for which modules is learned again soon after."""

    kind: Literal["ingest_modules"] = "ingest_modules"
    documents: Documents[ModuleDocument]


class IngestModulesResult(IngestResult):
    """The outcome of each document. Its ``total`` counts the modules of one that was stored."""

    kind: Literal["ingest_modules"] = "ingest_modules"
