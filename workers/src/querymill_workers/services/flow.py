"""The flow of each request of the services."""

from typing import assert_never

from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.feedback import GiveFeedback, ListFeedback
from querymill_shared.contracts.rerank import Rerank
from querymill_shared.contracts.set_aside import ListSetAside
from querymill_workers.jobs.flow import Flow, flow
from querymill_workers.jobs.one_step import one_step
from querymill_workers.services import answer, callback, embed, feedback, rerank, set_aside
from querymill_workers.services.ports import ServicePorts

ServiceRequest = EmbedTexts | Rerank | AnswerQuestion | ListSetAside | GiveFeedback | ListFeedback | TellCaller


def flow_of(request: ServiceRequest) -> Flow[ServicePorts]:
    """Return the flow of a request."""
    match request:
        case EmbedTexts():
            return one_step(request, embed.step, embed.ENDING)
        case Rerank():
            return flow(request, rerank.step, rerank.conclude, rerank.settle)
        case AnswerQuestion():
            return flow(request, answer.step, answer.conclude, answer.settle)
        case TellCaller():
            return one_step(request, callback.step, callback.ENDING)
        case ListSetAside():
            return one_step(request, set_aside.step, set_aside.ENDING)
        case GiveFeedback():
            return one_step(request, feedback.keep, feedback.KEPT)
        case ListFeedback():
            return one_step(request, feedback.list_page, feedback.LISTED)
        case _:
            assert_never(request)
