"""Which embedding models a collection's messages have to do with: the workers' own, and the one before it.

While the vectors of a new model are made beside those of the model before, questions are embedded by the latter, if
it can still be asked. Both have the same dimension: the database is made for one.
"""

from collections.abc import Sequence
from dataclasses import replace

from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs.faults import Refused


def embedded_by(collection: str, ports: Ports) -> Sequence[Embeddings]:
    """Name the models that new messages are embedded by: our own first, so that a switch to it misses nothing."""
    searched_by = ports.sessions.searched_by(collection, first=ports.embeddings.model)
    former = ports.former
    if former is None or searched_by != former.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, former.embeddings]


def searching(collection: str, ports: Ports) -> Ports:
    """Give the ports by whose model the collection is searched.

    Raises:
        Refused: It cannot be asked any more.
    """
    searched_by = ports.sessions.searched_by(collection)
    if searched_by in (None, ports.embeddings.model):
        return ports
    former = ports.former
    if former is None or searched_by != former.embeddings.model:
        raise Refused(
            f"the vectors are of {searched_by}, the workers embed by {ports.embeddings.model}: embed the messages anew"
            " (querymill reembed messages), or name the other model in QUERYMILL_FORMER_EMBEDDING_MODEL meanwhile"
        )
    return replace(ports, embeddings=former.embeddings, calibration=former.calibration)
