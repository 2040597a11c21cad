"""The `embed_documents` and `reembed` kinds: they make the vectors of every retriever in the same way."""

from collections.abc import Sequence
from typing import assert_never

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.retrievers.conversations import embed as conversations
from querymill_workers.retrievers.files import embed as files
from querymill_workers.retrievers.messages import embed as messages
from querymill_workers.retrievers.modules import describe as modules
from querymill_workers.retrievers.reports import ports as reports
from querymill_workers.vectors.embedding import ENDING, Embeddable, embed_documents
from querymill_workers.vectors.reembedding import conclude, reembed


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


def flow_of(request: EmbedDocuments | Reembed) -> Flow[Ports]:
    """Return the flow of a request."""
    target = target_of(request.retriever)

    def embed(claim: Claim, asked: EmbedDocuments, ports: Ports) -> None:
        embed_documents(claim, asked, target, ports)

    def reembed_part(claim: Claim, asked: Reembed, ports: Ports) -> Sequence[Bell]:
        return reembed(claim, asked, target, ports)

    def go_on(picture: Picture, asked: Reembed, ports: Ports) -> Sequence[Bell]:
        return conclude(picture, asked, target, ports)

    match request:
        case EmbedDocuments():
            return one_step(request, embed, ENDING)
        case Reembed():
            return flow(request, reembed_part, go_on, reads="PostgreSQL")
        case _:
            assert_never(request)
