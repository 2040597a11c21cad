"""Texts of which a provider refuses some, with a model that refuses what a test says."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.inference.refusals import MAX_REASON_CHARS, HalvingJudge, TextRefusal, embed_each
from querymill_workers.inference.work import Misfit, Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage

CALLER = Caller("acme", Lane.BULK)


class Picky:
    """Embeds a text as its length; refuses a request that holds one of ``refused``."""

    model, dimensions, max_text_tokens = "picky", 1, 512

    def __init__(self, *refused: str, words: str = "") -> None:
        self.refused = refused
        self.words = words
        self.requests: list[list[str]] = []
        self.fails_with: Exception | None = None

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        self.requests.append(list(texts))
        if self.fails_with is not None:
            raise self.fails_with
        if any(bad in text for bad in self.refused for text in texts):
            raise Unacceptable("embedding rejected: HTTP 400", words=self.words)
        return np.array([[len(text)] for text in texts], np.float32), ProviderUsage(1, len(texts))

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return None


def embedded(texts: Sequence[str], model: Picky) -> list[float | str]:
    found, _ = embed_each(texts, model, input_type="passage", caller=CALLER)
    return [one.reason if isinstance(one, TextRefusal) else float(one[0]) for one in found]


def test_the_others_of_a_refused_batch_get_their_vectors() -> None:
    found = embedded(["a", "bb", "bad", "dddd", "eeeee"], Picky("bad"))
    assert found == [1, 2, "embedding rejected: HTTP 400", 4, 5]


class Naming(Picky):
    """Names the texts that it refuses, as a model does that found them by itself."""

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        try:
            return super().embed(texts, input_type=input_type, caller=caller)
        except Unacceptable as error:
            bad = [index for index, text in enumerate(texts) if any(one in text for one in self.refused)]
            raise Unacceptable(str(error), refused={i: Unacceptable(f"{error} {texts[i]}") for i in bad}) from error


def test_texts_that_the_model_names_are_not_looked_for() -> None:
    model = Naming("bad")
    found = embedded(["a", "bad", "ccc", "bad too", "eeeee"], model)
    assert found == [1, "embedding rejected: HTTP 400 bad", 3, "embedding rejected: HTTP 400 bad too", 5]
    assert model.requests == [["a", "bad", "ccc", "bad too", "eeeee"], ["a", "ccc", "eeeee"]]


def test_a_batch_that_is_accepted_is_one_request() -> None:
    model = Picky("bad")
    _, usage = embed_each(["a", "bb"], model, input_type="passage", caller=CALLER)
    assert (len(model.requests), usage) == (1, ProviderUsage(1, 2))


def test_the_calls_that_were_accepted_are_paid() -> None:
    _, usage = embed_each(["a", "bad", "cc", "dd"], Picky("bad"), input_type="passage", caller=CALLER)
    assert usage == ProviderUsage(2, 3)


def test_no_text_has_no_vector() -> None:
    assert embedded([], Picky("bad")) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("maximum context\nlength is 8192 tokens", ": maximum context length is 8192 tokens"),
        ("cannot embed 'The secret pin is 4417'", ""),
        ("cannot embed 'THE SECRET PIN IS'", ""),
        ("", ""),
    ],
)
def test_a_reason_has_the_providers_words_unless_they_quote_the_text(words: str, reason: str) -> None:
    found = embedded(["fine", "the secret  pin is 4417, do not tell"], Picky("secret", words=words))
    assert found == [4, f"embedding rejected: HTTP 400{reason}"]


def test_a_short_text_is_not_quoted_either() -> None:
    assert embedded(["fine", "4417"], Picky("4417", words="bad: 4417")) == [4, "embedding rejected: HTTP 400"]


def test_a_reason_is_short() -> None:
    found = embedded(["fine", "bad"], Picky("bad", words="x" * 5_000))
    assert len(str(found[1])) == MAX_REASON_CHARS


def test_a_provider_that_refuses_even_a_harmless_text_refuses_no_text_in_particular() -> None:
    with pytest.raises(Refused, match="HTTP 400"):
        embedded(["a", "b"], Picky(""))


def test_when_all_are_refused_a_harmless_text_is_asked_for() -> None:
    assert embedded(["bad", "bad too"], Picky("bad")) == ["embedding rejected: HTTP 400"] * 2


@pytest.mark.parametrize("error", [Unavailable("away"), Refused("rate limit"), Misfit("3 dimensions")])
def test_an_outage_is_no_refusal(error: Exception) -> None:
    model = Picky()
    model.fails_with = error
    with pytest.raises(type(error)):
        embedded(["a", "b"], model)
    assert len(model.requests) == 1


class PickyJudge:
    """Judges a passage as 0.5; refuses what holds "bad", and is away from its so-manieth call on."""

    def __init__(self, away_from: int = 1_000) -> None:
        self.asked: list[list[str]] = []
        self._away_from = away_from

    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        self.asked.append(list(passages))
        if len(self.asked) >= self._away_from:
            raise Refused("no call can start before the deadline")
        if "bad" in query or any("bad" in text for text in passages.values()):
            raise Unacceptable("rejected: HTTP 500")
        return dict.fromkeys(passages, 0.5), ProviderUsage(1, 1)


PASSAGES = {"a": "ships", "b": "soup", "c": "bad", "d": "rain", "e": "wood"}


def test_the_passages_beside_a_refused_one_are_judged_and_every_call_is_paid() -> None:
    judged, usage = HalvingJudge(PickyJudge()).judge("q", PASSAGES, caller=CALLER)
    assert (judged, usage) == (dict.fromkeys("abde", 0.5), ProviderUsage(3, 3))


def test_a_question_that_is_refused_is_not_asked_for_every_passage() -> None:
    judge = PickyJudge()
    with pytest.raises(Unacceptable):
        HalvingJudge(judge).judge("bad", PASSAGES, caller=CALLER)
    assert len(judge.asked) == 2


def test_what_was_judged_before_the_time_was_up_is_kept() -> None:
    assert HalvingJudge(PickyJudge(away_from=4)).judge("q", PASSAGES, caller=CALLER)[0] == {"a": 0.5, "b": 0.5}
    with pytest.raises(Refused, match="deadline"):
        HalvingJudge(PickyJudge(away_from=3)).judge("q", PASSAGES, caller=CALLER)


def test_a_single_passage_is_not_halved() -> None:
    judge = PickyJudge()
    with pytest.raises(Unacceptable):
        HalvingJudge(judge).judge("q", {"c": "bad"}, caller=CALLER)
    assert len(judge.asked) == 1
