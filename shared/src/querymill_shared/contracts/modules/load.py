"""The `load_modules` kind: ingest many code documents in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_one_job
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.results import Asks


def _fit(documents: tuple[ModuleDocument, ...]) -> tuple[ModuleDocument, ...]:
    fit_one_job(
        [str(document.document) for document in documents],
        [len(document.code) + len(document.meta_info.description) for document in documents],
        name="documents",
    )
    return documents


class LoadModules(Load, Asks["LoadModulesResult"]):
    """Ingest code documents, each as an `IngestModule` does."""

    kind: Literal["load_modules"] = "load_modules"
    documents: Annotated[
        tuple[ModuleDocument, ...], Field(min_length=1, max_length=MAX_DOCUMENTS), AfterValidator(_fit)
    ]


class LoadModulesResult(LoadResult):
    """The outcome of each document."""

    kind: Literal["load_modules"] = "load_modules"
