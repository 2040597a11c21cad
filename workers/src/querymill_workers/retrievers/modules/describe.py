"""The descriptions of code documents as the vector channel compares them: whole, or in passages that fit the model."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.modules.ingest import IngestModules, ModuleDocument
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.modules.ports import KIND, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import shown_id
from querymill_workers.text.passages import split_text
from querymill_workers.vectors.embedding import Embeddable, submit_embedding

EMBEDDABLE: Final = Embeddable(KIND, batch=16)
#: The part of the model's input that a passage may take: tokens are estimated.
INPUT_SHARE: Final = 0.8


def put_descriptions(collection: str, documents: Sequence[ModuleDocument], ports: ModulePorts) -> None:
    """Store the descriptions of documents, within a versioned change of them. Unchanged ones keep their vectors."""
    ports.descriptions.put(
        collection, {document.document: passages_of(document.meta_info.description, ports) for document in documents}
    )
    ports.vectors[KIND].retry(collection, documents=[shown_id(document.document) for document in documents])


def passages_of(description: str, ports: ModulePorts) -> list[str]:
    """Return the passages of a description. A blank one has none."""
    text = description.strip()
    most = int(ports.embeddings.max_text_tokens * INPUT_SHARE)
    spans = split_text(text, max_tokens=most, estimate=ports.count_tokens)
    return [text[span.start : span.end] for span in spans]


def embed_soon(claim: Claim, request: IngestModules, ports: ModulePorts) -> tuple[Sequence[str], Sequence[Bell]]:
    """Submit jobs that embed the descriptions of documents that lack a vector. Return their ids, and their bells."""
    passages = {document.document_id: 1 for document in request.documents}  # few are longer than one
    return submit_embedding(EMBEDDABLE, request.collection, passages, ports, lane=request.lane, token=claim.job_id)
