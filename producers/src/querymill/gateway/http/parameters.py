"""The parameters that several routes have in their paths."""

from typing import Annotated

from fastapi import Path

from querymill_shared.contracts.documents import DocumentKey
from querymill_shared.contracts.fields import CollectionName
from querymill_shared.contracts.filters import Retriever

JobId = Annotated[str, Path(description="id of the job, 32 hex digits, as its submission returned it")]
StoredCollection = Annotated[str, Path(description="name of a collection that the key may see")]
#: The one into which documents go. It need not exist.
NamedCollection = Annotated[CollectionName, Path(description="name of the collection; the first document makes it")]
KindName = Annotated[Retriever, Path(description="kind of the documents")]
DocumentId = Annotated[DocumentKey, Path(description="id of the document; it may contain slashes")]
BatchId = Annotated[str, Path(description="id of the batch, 32 hex digits")]
