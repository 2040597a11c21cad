"""The descriptions of code documents as the vector channel compares them: whole, or in passages that fit the model."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.ledger.ports import Subject
from querymill_workers.retrievers.modules.ports import KIND, NO_VERSION, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import DocumentId, shown_id
from querymill_workers.text.passages import split_text

#: The part of the model's input that a passage may take: tokens are estimated.
INPUT_SHARE: Final = 0.8
#: Documents described in one change.
DOCUMENTS_BATCH: Final = 100


def put_descriptions(collection: str, documents: Sequence[ModuleDocument], ports: ModulePorts) -> None:
    """Store the descriptions of documents, within the ledger's change of them. Unchanged ones keep their vectors."""
    ports.descriptions.put(
        collection, {document.document: passages_of(document.meta_info.description, ports) for document in documents}
    )


def passages_of(description: str, ports: ModulePorts) -> list[str]:
    """Return the passages of a description. A blank one has none."""
    text = description.strip()
    most = int(ports.embeddings.max_text_tokens * INPUT_SHARE)
    spans = split_text(text, most_tokens=most, estimate=ports.count_tokens)
    return [text[span.start : span.end] for span in spans]


def describe(collection: str, documents: Sequence[DocumentId], ports: ModulePorts) -> None:
    """Store the descriptions of documents as they are now, locked against writers."""
    for start in range(0, len(documents), DOCUMENTS_BATCH):
        batch = documents[start : start + DOCUMENTS_BATCH]
        subjects = [Subject(shown_id(document)) for document in batch]
        with ports.ledger.changing(collection, KIND, subjects, NO_VERSION, whole=False):
            put_descriptions(collection, list(ports.modules.documents(collection, batch).values()), ports)
