"""What an answer lacks, in plain sentences. They are made from codes, never read out of reasons."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_shared.contracts.answer import WRITE
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.results import Degradation

#: Where to look if the chat model did not do its part.
CHAT_MODEL_SETTINGS: Final = "The workers' CHAT_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY name the chat model."

#: What each stage asks, as far as a sentence names it.
_MODELS: Final[dict[str, str]] = {
    "embed": "the embedding model",
    "vectors": "the embedding model",
    "judge": "the judge",
    "rerank": "the judge",
    "words": "the index of words",
    "context": "the store",
}
#: What the answer lost where a stage is missing. Branches are counted instead.
_LOST: Final[dict[str, str]] = {
    "embed": "Found by words alone.",
    "vectors": "Found by words alone.",
    "words": "Found by vectors alone.",
    "answer": "There is no answer, only hits.",
    WRITE: "The answer is a quotation of the hits.",
    "judge": "The answer was not judged.",
    "rerank": "The hits are in the order of the search.",
    "context": "There is no joined text.",
    "text": "Only modules were compared, not descriptions.",
}
#: What happened, by code: ``model`` is what the stage asks, ``within`` the time it had.
_SAID: Final[dict[str, str]] = {
    "limit": "the limit of {model} left no call before the deadline",
    "deadline": "not finished {within}",
    "slow": "{model} took longer than the search waits for it",
    "provider_down": "no response from {model}",
    "provider_refused": "{model} refused, or replied with nothing of use",
    "store_down": "a store was away",
    "pending": "something has to be finished first, such as vectors of new documents",
    "cut": "shortened to fit a limit",
    "lost": "the workers that ran it were lost",
    "budget": "the budget of the API key left no call today",
    "bug": "an internal error",
}
#: What would help, by code.
_HELP: Final[dict[str, str]] = {
    "limit": "Ask again, or raise the limit.",
    "slow": "Ask again: what comes late is kept. If it stays, the model needs more room, not the job more time.",
    "provider_down": "Ask again when the provider is back.",
    "store_down": "Ask again when the store is back.",
    "pending": "Ask again in a moment.",
    "lost": "Ask again.",
    "budget": "Ask again after 00:00 UTC, or with a larger budget: `querymill keys budget`.",
    "bug": "Ask again; if it stays, look at the log of the worker.",
}


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that an answer lacks: what happened, what was lost by it, and what would help. Either may be empty.

    ``count`` is how many parts of one sort lack the same, such as batches of a rerank.
    """

    stage: str
    code: Code | None
    sentence: str
    lost: str = ""
    help: str = ""
    count: int = 1


def missing(
    degraded: Sequence[Degradation], *, branches: Collection[str] = (), deadline_s: float | None = None
) -> tuple[MissingPart, ...]:  # fmt: skip
    """Say what an answer lacks. Parts of one sort that lack the same are said once.

    Args:
        degraded: What the result names as missing.
        branches: The names of the job's branches, which search each on their own, if it has several.
        deadline_s: The job's deadline in seconds, if it has one.
    """
    groups: dict[tuple[str, Code | None, str], list[Degradation]] = {}
    for part in degraded:
        sort = part.stage if part.stage in branches else part.stage.rstrip("0123456789").rstrip("-_ ")
        # Without a code, the reason is all there is. Of what does not fit, it names the company.
        said = part.reason if part.code in (None, "invalid") else ""
        groups.setdefault((sort or part.stage, part.code, said), []).append(part)
    gone = len({part.stage for part in degraded if part.stage in branches and part.code not in ("cut", "pending")})
    return tuple(
        MissingPart(
            stage=stage,
            code=code,
            sentence=_sentence(stage, code, group, deadline_s),
            lost=_lost(stage, code, branches, gone),
            help=_help(stage, code, deadline_s),
            count=len(group),
        )
        for (stage, code, _), group in groups.items()
    )


def _sentence(stage: str, code: Code | None, group: Sequence[Degradation], deadline_s: float | None) -> str:
    within = "before the deadline" if deadline_s is None else f"in {deadline_s:g} s"
    said = _SAID.get(code or "", group[0].reason or "missing")
    if code in _SAID:
        said = said.format(model=_MODELS.get(stage, "the chat model"), within=within)
    return f"{stage}{f' × {len(group)}' if len(group) > 1 else ''}: {said}."


def _lost(stage: str, code: Code | None, branches: Collection[str], gone: int) -> str:
    if code == "cut":
        return ""
    if stage in branches:
        return f"Hits are from {len(branches) - gone} of {len(branches)} branches." if len(branches) > 1 else ""
    if stage == "embed" and code == "pending":
        return "What has no vector yet was searched by words."
    return _LOST.get(stage, "")


def _help(stage: str, code: Code | None, deadline_s: float | None) -> str:
    if stage == WRITE and code not in _HELP:
        return CHAT_MODEL_SETTINGS
    if code == "deadline" and deadline_s is not None:
        return f"A deadline of {deadline_s * 2:g} s may help."
    return _HELP.get(code or "", "")
