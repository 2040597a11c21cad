"""Which weights of a search suit a collection: chosen on one half of its judged questions, tested on the other.

Nothing is chosen where it is tested, else the best of several settings would look better than it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_evaluation.sets import sample_key
from querymill_evaluation.significance import Difference, paired_difference
from querymill_shared.contracts.filters import Retriever

Options = Mapping[str, Any]
#: The weights of each kind that a request may set, as they are tried beside the defaults.
TRIED: Final[Mapping[Retriever, Sequence[Options]]] = {
    "reports": ({"ranking": "agreement"}, {"glossary": False}, {"inner_factor": 0.5}, {"inner_factor": 2.0}),
    "messages": tuple({"vectors_weight": weight} for weight in (0.1, 0.5, 1.0, 2.0)),
    "conversations": tuple(
        {"rank_swing": rank, "decay_swing": decay} for rank, decay in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.1), (0.4, 0.2))
    ),
    "modules": ({"channels": ["text"]}, {"channels": ["modules", "text", "vectors"]}, {"mode": "coverage"}),
    "files": ({"channels": ["words", "vectors"]}, {"candidates": 50}),
}
#: The fewest questions that are halved. An interval of fewer than ten pairs says nothing.
MIN_QUESTIONS: Final = 20


@dataclass(frozen=True, slots=True)
class WeightProposal:
    """The options that were best on one half, and their difference to the defaults (nDCG@10) on the other half."""

    options: Options
    chosen_on: int
    difference: Difference

    @property
    def is_worth_it(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.difference.verdict == "better"


def halves(query_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part questions in two halves, the same each time, which do not follow the order of the file."""
    ordered = sorted(query_ids, key=sample_key)
    return ordered[::2], ordered[1::2]


def propose(defaults: Mapping[str, float], tried: Sequence[tuple[Options, Mapping[str, float]]]) -> WeightProposal:
    """Propose the best of the settings, each given with the value of every question.

    With the defaults at 0.5 for each question, and a setting at 0.7 for each, its difference is 0.2 for sure.

    Raises:
        ValueError: There are fewer than two questions, or nothing was tried.
    """
    first, second = halves(list(defaults))
    options, best = max(tried, key=lambda each: sum(each[1][query_id] for query_id in first))
    difference = paired_difference([defaults[each] for each in second], [best[each] for each in second])
    return WeightProposal(options, len(first), difference)


def in_words(proposal: WeightProposal) -> list[str]:
    """Say what is proposed, and how sure it is."""
    said = ", ".join(f"{name}={value}" for name, value in proposal.options.items())
    found = proposal.difference
    interval = (
        f"{found.mean:+.3f} nDCG@10 on {found.pairs} other questions,"
        f" 95 % interval {found.low:+.3f} to {found.high:+.3f}"
    )
    if proposal.is_worth_it:
        return [
            f"Proposed: {said}.",
            f"It was the best on {proposal.chosen_on} questions, and is better than the defaults: {interval}.",
            "Nothing was changed: give these fields with each request.",
        ]
    return [
        "Keep the defaults.",
        f"The best on {proposal.chosen_on} questions was {said}, but it is not sure to be better: {interval}.",
    ]
