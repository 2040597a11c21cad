"""The ports for models: embed texts, rewrite questions, judge relevance."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.values import value
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.calibration import Calibration
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.tokens import estimate

#: One vector per row, float32.
Vectors = npt.NDArray[np.float32]


InputType = Literal["query", "passage"]


class Embeddings(Protocol):
    """Turns texts into vectors of one model. The number, dimension and finiteness of the vectors are checked."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_text_tokens(self) -> int:
        """The model's input. Of a longer text, only the beginning is embedded."""
        ...

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        """Return one vector per text, as rows of a float32 array.

        Raises:
            Unavailable: The provider is unreachable or slow, or its vectors are of no use.
            Unacceptable: The provider refuses texts. If the error names them, the others have vectors by then.
            Refused: The provider refuses the call, or its rate limit allows none before the caller's deadline.
        """
        ...

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        """Return the vectors of texts if the fleet knows all of them, without asking the provider."""
        ...


def cut_of(query: str, embeddings: Embeddings) -> str | None:
    """Return the words for a result whose query is longer than the model's input, or None if it is not."""
    most = embeddings.max_text_tokens
    return f"the query was cut to the model's input of {most} tokens" if estimate(query) > most else None


@value
class PreviousModel:
    """The previous embedding model, while its provider is still configured, and the meaning of its cosines."""

    embeddings: Embeddings
    calibration: Calibration


class Rewriter(Protocol):
    """Rewrites a question by a method: hyde, synonym, subquestion or variant."""

    def rewrite(
        self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller
    ) -> tuple[str, ProviderUsage]:
        """Return the model's reply, unparsed.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: The provider's rate limit allows no call before the caller's deadline.
        """
        ...

    def write_standalone(self, question: str, said: Sequence[SaidTurn], *, caller: Caller) -> tuple[str, ProviderUsage]:
        """Return the model's reply, unparsed: a question that can be understood without the turns before it.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: The provider's rate limit allows no call before the caller's deadline.
        """
        ...


class Judge(Protocol):
    """The relevance judge: scores the relevance of passages to a query, each from 0 to 1."""

    @property
    def is_configured(self) -> bool:
        """Whether an operator chose it to judge: a rerank endpoint, or a chat model that writes answers."""
        return True

    @property
    def relevance_formula(self) -> str:
        """How a relevance follows from what the model said, or "" if it is what the model said."""
        return ""

    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        """Return the relevance of passages by their ids. A passage that was not judged is missing.

        ``passages`` must not be empty.

        Raises:
            Unavailable: No response in time, or none that could be read.
            Refused: Another call would not help, or none can start before the caller's deadline.
        """
        ...
