"""How the chunks of files are embedded: those of a small code base unasked, of a larger one if asked for."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.ingest import CompareFiles, IngestFiles
from querymill_shared.contracts.files.search import FileSearch
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.files.ports import KIND, FilePorts
from querymill_workers.text.languages import language_of
from querymill_workers.vectors.embedding import Embeddable, submit_embedding
from querymill_workers.vectors.rules.weights import VectorsWeight, choose_weight

#: Each text may be as long as the model's input, and several jobs embed at once: a small server on few cores must
#: answer before the call times out.
#: 500 texts are about a minute and a half of two cores with the bundled model.
EMBEDDABLE: Final = Embeddable(KIND, batch=4, unasked=500)
#: How long after a change vectors that nobody asked for are begun, in seconds: the files of a large code base, which
#: come in several jobs, are then known to be many.
SETTLE_S: Final = 3.0


def has_vectors(collection: str, ports: FilePorts) -> bool:
    """Return whether a collection has vectors, or is to have them. The model that searches compare is stored then."""
    return ports.vectors[KIND].active_model(collection) is not None


def compares_vectors(request: FileSearch, ports: FilePorts) -> bool:
    """Return whether a search compares vectors: there are some, and they are asked for or estimated to be worth it."""
    model = ports.vectors[KIND].active_model(request.collection)
    if model is None:
        return False
    if "vectors" in request.searched_channels:
        return True
    weight = known_weight(request, model, ports)
    return weight is not None and weight.is_worth_a_call


def known_weight(request: FileSearch, model: str, ports: FilePorts) -> VectorsWeight | None:
    """Return what the vectors of a model weigh in a search, None if neither the request nor an estimate says so."""
    worth = ports.vectors[KIND].worth(request.collection, model=model)
    weight = choose_weight(request.vectors_weight, worth, usual=1.0, language=language_of(request.query))
    return None if weight.origin == "kind" else weight


def ask_for_vectors(collection: str, ports: FilePorts) -> bool:
    """Have the files of a collection embedded from now on. Return whether this is the first time that it is asked."""
    is_first = not has_vectors(collection, ports)
    ports.vectors[KIND].active_model(collection, first=ports.embeddings.model)
    return is_first


def count_pending(collection: str, ports: FilePorts) -> int:
    """Count the chunks that wait for a vector; none does in a collection without vectors."""
    model = ports.embeddings.model
    return ports.vectors[KIND].counts(collection, model=model).pending if has_vectors(collection, ports) else 0


def embed_soon(
    claim: Claim, request: IngestFiles | CompareFiles, chunks: Mapping[str, int] | None, ports: FilePorts
) -> Sequence[Bell]:
    """Submit jobs that embed files, and return their bells.

    ``chunks`` is the number of chunks of each, roughly, or None for all files that lack a vector.
    """
    collection = request.collection
    if chunks is None:
        chunks = ports.vectors[KIND].lacking(collection, model=ports.embeddings.model)
    settle_s = 0.0 if has_vectors(collection, ports) else SETTLE_S
    _, bells = submit_embedding(
        EMBEDDABLE, collection, chunks, ports, lane=request.lane, token=claim.job_id, settle_s=settle_s
    )
    return bells
