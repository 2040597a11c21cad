"""Call each model once as the workers do, and print what came back: ``python -m querymill_workers.trial``.

`querymill doctor` runs this, so that it never calls a model fit whose replies the workers cannot use. Each line is a
JSON object: the model's ``name``; ``ok``, which is null if the model serves for some purposes only; what it ``said``,
or what is wrong with it; and, if something is, whether the model was ``reached`` at all.
"""

import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import numpy as np

from querymill_shared.settings import Settings
from querymill_workers import logs, wiring
from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.chat import in_shape
from querymill_workers.inference.client import Limited, NoResponse, Rejected, TimedOut, worded
from querymill_workers.inference.http_judge import PLAIN_PASSAGES, PLAIN_QUESTION
from querymill_workers.inference.parameters import REASONING_TOKENS, Parameters
from querymill_workers.inference.profiles import EmbeddingProfile
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.inference.work import Misfit
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import ProviderUsage

#: Few words, because a small model on a busy processor takes seconds for each of them.
_ANSWERED: Final = (ChatTurn(role="user", content="Say ok."),)
_SCORES: Final = '{"grounded": 1, "relevant": 1, "complete": 1, "unsupported": []}'
_JUDGED: Final = (ChatTurn(role="user", content=f"Reply only with this JSON: {_SCORES}"),)
_MAX_TOKENS: Final = 20
_MAX_SCORE_TOKENS: Final = 60
_SHOWN_CHARS: Final = 40
_REMEDIES: Final = {
    "no connection": "is it running, is the address right?",
    "HTTP 401": "is the key right?",
    "HTTP 403": "is the key right?",
    "HTTP 404 (": "the page Providers of the documentation has the addresses",
    "HTTP 405 (": "the page Providers of the documentation has the addresses",
    "HTTP 404": "does this model exist there?",
}
#: Whatever the status: the address, the key and the model are right.
_NO_QUOTA: Final = "no quota left"
_OF_MISFIT: Final = {
    "embedding models": "set QUERYMILL_EMBEDDING_DIMENSIONS, or name another model",
    "previous embedding model": "set QUERYMILL_PREVIOUS_EMBEDDING_DIMENSIONS, or name another model",
    "rerank endpoint": "name a model whose relevance is from 0 to 1, a logit, or from 0 to 100",
}
#: After these it is the address or the key that is to blame, not the model.
_OF_ADDRESS: Final = ("no connection", "HTTP 401", "HTTP 403", "HTTP 3", "HTTP 404 (", "HTTP 405 (")


class Lacking(Exception):
    """The model is of use, but not for everything."""


def main() -> int:
    """Try every model that the settings name. Return 0, also if some do not work."""
    settings = wiring.settings()
    logs.configure(settings.querymill_log_level)  # to the other stream: the caller reads a JSON object from each line
    trials: dict[str, Callable[[], str]] = {
        "embedding models": lambda: try_embeddings(
            settings, wiring.embedding_profile(settings), *settings.embedding_endpoint
        ),
    }
    if settings.chat_model:
        trials["chat models"] = lambda: try_chat(settings)
    if settings.rerank_base_url:
        trials["rerank endpoint"] = lambda: try_rerank(settings)
    if (previous := wiring.previous_profile(settings)) is not None:
        base_url, key = settings.previous_embedding_endpoint
        trials["previous embedding model"] = lambda: try_embeddings(settings, previous, base_url, key)
    with ThreadPoolExecutor(len(trials)) as pool:
        for found in pool.map(lambda trial: result_of(*trial), trials.items()):
            said = settings.mask_secrets(found["said"])
            sys.stdout.write(json.dumps({**found, "said": said}) + "\n")
    return 0


def result_of(name: str, attempt: Callable[[], str]) -> Mapping[str, Any]:
    """Return what came of an attempt to use a model."""
    try:
        return {"name": name, "ok": True, "said": attempt()}
    except Lacking as error:
        return {"name": name, "ok": None, "reached": True, "said": str(error)}
    except (Limited, NoResponse, Rejected, Refused) as error:
        said = worded(error) if isinstance(error, Limited | NoResponse) else str(error)
        remedy = next((remedy for start, remedy in _REMEDIES.items() if said.startswith(start)), "")
        if isinstance(error, Misfit):
            remedy = _OF_MISFIT[name]
        is_spent = _NO_QUOTA in said
        if is_spent:
            remedy = "top up the account at the provider, or raise the limit of the key"
        reached = is_spent or (not isinstance(error, TimedOut) and not said.startswith(_OF_ADDRESS))
        return {"name": name, "ok": False, "reached": reached, "said": f"{said}; {remedy}" if remedy else said}


def try_chat(settings: Settings) -> str:
    """Have the chat model write as for an answer, and reply with an object as for a judgement.

    Raises:
        Lacking: The model writes, but its replies do not have the structure of a judgement.
        Limited, NoResponse, Rejected, Refused: The workers could not use a reply.
    """
    timeout_s = settings.querymill_chat_timeout_s
    with closing(wiring.chat_endpoint(settings)) as endpoint:
        reply = endpoint.begin(_ANSWERED, endpoint.options(_MAX_TOKENS, None), timeout_s).value
        with closing(reply):
            words = " ".join("".join(iter(reply.next, None)).split())
        if reply.fault:
            raise NoResponse(f"the reply broke off: {reply.fault}")
        shown = words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}…"
        options = endpoint.options(_MAX_SCORE_TOKENS, AnswerScoresReply)
        try:
            in_shape(
                lambda turns: (endpoint.ask(turns, options, timeout_s).value, ProviderUsage()),
                _JUDGED,
                AnswerScoresReply,
            )
        except Refused as error:
            raise Lacking(f'says "{shown}", but cannot judge: {error}') from error
    return f'says "{shown}" and judges{_learned(endpoint.parameters)}'


def try_embeddings(settings: Settings, profile: EmbeddingProfile, base_url: str, key: str) -> str:
    """Embed two passages and a question, and tell whether a model that tells them apart does so at this server.

    Raises:
        Limited, NoResponse, Rejected, Refused: The workers could not use the vectors.
    """
    timeout_s = settings.querymill_embedding_timeout_s
    with closing(wiring.embedding_endpoint(settings, profile, base_url, key)) as endpoint:
        passages = endpoint.ask(PLAIN_PASSAGES, "passage", timeout_s).value
        questions = endpoint.ask([PLAIN_QUESTION, PLAIN_PASSAGES[0]], "query", timeout_s).value
    is_deaf = profile.asymmetric and np.allclose(passages[0], questions[1], atol=1e-3)
    said = f"vectors of {profile.dimensions} dimensions{_learned(endpoint.parameters)}"
    return f"{said}; it embeds questions and passages alike, although the model tells them apart" if is_deaf else said


def try_rerank(settings: Settings) -> str:
    """Judge the relevance of two passages.

    Raises:
        Limited, NoResponse, Rejected, Refused: The workers could not use the relevances.
    """
    with closing(wiring.rerank_endpoint(settings)) as endpoint:
        judged = endpoint.ask(PLAIN_QUESTION, PLAIN_PASSAGES, settings.querymill_rerank_timeout_s).value
    indexes = range(len(PLAIN_PASSAGES))
    relevances = ", ".join(f"{judged[index]:.2f}" if index in judged else "none" for index in indexes)
    return f"relevance {relevances}{_learned(endpoint.parameters, formula=endpoint.relevance_formula)}"


def _learned(parameters: Parameters, *, formula: str = "") -> str:
    """Return what was learned of a model, for a person."""
    refused = parameters.refused
    learned = [
        *([f"without {', '.join(refused)}, which it refuses"] if refused else []),
        *([f"max_tokens for {', '.join(ignored)}, which it ignores"] if (ignored := parameters.ignored) else []),
        *([f"at most {most} texts a request"] if (most := parameters.most_texts) else []),
        *([f"with {REASONING_TOKENS:,} tokens more for its reasoning"] if parameters.reasons else []),
        *([f"relevance = {formula}"] if formula else []),
    ]
    return f" ({'; '.join(learned)})" if learned else ""


if __name__ == "__main__":
    sys.exit(main())
