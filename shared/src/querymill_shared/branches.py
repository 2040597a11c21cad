"""The branches of a search, and the names of their steps."""

from typing import Final

#: The branch that searches a hypothetical answer (Gao et al., "Precise Zero-Shot Dense Retrieval", 2022).
HYDE: Final = "hyde"
#: The branch that searches the question as a chat model rewrites it by the turns of the chat before it.
STANDALONE: Final = "standalone"
#: The branch that splits the question.
SUBQUESTION: Final = "subquestion"
#: The branch that searches the question itself.
ORIGINAL: Final = "original"


def step_in(branch: str, step: str) -> str:
    """Return what a step of a branch is called among the steps of the whole search."""
    return f"{branch}/{step}"


def own_step(step: str) -> str:
    """Return what a step of a branch is called in the branch: ``search`` for ``hyde/1/search``."""
    return step.rpartition("/")[2]
