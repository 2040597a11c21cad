"""The `embed_documents`, `reembed` and `weigh_vectors` kinds: they serve every retriever in the same way.

Whatever may have given the last passage its vector has the vectors weighed, if that is due.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed, WeighVectors
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.conversations import embed as conversations
from querymill_workers.retrievers.files import embed as files
from querymill_workers.retrievers.messages import embed as messages
from querymill_workers.retrievers.modules import describe as modules
from querymill_workers.retrievers.modules.ingest import indexed_modules
from querymill_workers.retrievers.reports import ports as reports
from querymill_workers.vectors import embedding, weighing
from querymill_workers.vectors.embedding import Embeddable, embed_documents
from querymill_workers.vectors.reembedding import conclude, reembed
from querymill_workers.vectors.weighing import submit_weighing, weigh_vectors


def target_of(kind: Retriever) -> Embeddable:
    """Return how the passages of a retriever are embedded."""
    match kind:
        case "conversations":
            return conversations.EMBEDDABLE
        case "files":
            return files.EMBEDDABLE
        case "messages":
            return messages.EMBEDDABLE
        case "modules":
            return modules.EMBEDDABLE
        case "reports":
            return reports.EMBEDDABLE
        case _:
            assert_never(kind)


def indexed_words(request: WeighVectors, ids: Sequence[str], ports: Ports) -> Mapping[str, Mapping[str, float]]:
    """Count by document the words that its retriever indexes, where these are more than what it embeds."""
    return indexed_modules(request.collection, ids, ports) if request.retriever == "modules" else {}


def flow_of(request: EmbedDocuments | Reembed | WeighVectors) -> Flow[Ports]:
    """Return the flow of a request."""
    target = target_of(request.retriever)

    def embed(claim: Claim, asked: EmbedDocuments, ports: Ports) -> Sequence[Bell]:
        embed_documents(claim, asked, target, ports)
        return submit_weighing(claim, asked.collection, target, ports)

    def reembed_part(claim: Claim, asked: Reembed, ports: Ports) -> Sequence[Bell]:
        rung = reembed(claim, asked, target, ports)
        return rung or submit_weighing(claim, asked.collection, target, ports)

    def go_on(picture: Picture, asked: Reembed, ports: Ports) -> Sequence[Bell]:
        return conclude(picture, asked, target, ports)

    def weigh(claim: Claim, asked: WeighVectors, ports: Ports) -> None:
        weigh_vectors(claim, asked, target, ports, lambda ids: indexed_words(asked, ids, ports))

    match request:
        case EmbedDocuments():
            return one_step(request, embed, embedding.ENDING)
        case Reembed():
            return flow(request, reembed_part, go_on, reads="PostgreSQL")
        case WeighVectors():
            return one_step(request, weigh, weighing.ENDING)
        case _:
            assert_never(request)
