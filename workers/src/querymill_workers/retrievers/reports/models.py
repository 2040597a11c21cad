"""Which embedding models a collection of reports needs."""

from collections.abc import Sequence

from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.reports.ports import ReportPorts


def models_to_embed_with(collection: str, ports: ReportPorts) -> Sequence[Embeddings]:
    """Return the models that embed new reports: the workers' own, then the previous one if searches still use it.

    A collection is searched by the previous model until all its vectors of the new model exist. The workers' own model
    comes first, so that the switch to it misses no report.
    """
    searched_by = ports.report_life.searched_by(collection, first=ports.embeddings.model)
    previous = ports.previous
    if previous is None or searched_by != previous.embeddings.model or searched_by == ports.embeddings.model:
        return [ports.embeddings]
    return [ports.embeddings, previous.embeddings]


def searching_model(collection: str, ports: ReportPorts) -> Embeddings:
    """Return the model that a collection is searched by.

    Raises:
        Refused: The workers cannot ask that model.
    """
    searched_by = ports.reports.searched_by(collection)
    if searched_by in (None, ports.embeddings.model):
        return ports.embeddings
    previous = ports.previous
    if previous is None or searched_by != previous.embeddings.model:
        raise Refused(
            f"the collection's vectors come from {searched_by} but the workers embed by {ports.embeddings.model};"
            f" run `querymill reembed reports`, or set QUERYMILL_PREVIOUS_EMBEDDING_MODEL to {searched_by} until then"
        )
    return previous.embeddings
