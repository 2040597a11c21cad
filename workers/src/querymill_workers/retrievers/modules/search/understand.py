"""Understand a request: the modules that its parts ask for, the channels to search, and the text of each channel."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Final

from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.values import value
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.retrievers.modules.ports import Vocabulary
from querymill_workers.retrievers.modules.rules.chinese import with_english, without_texts
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, modules_of
from querymill_workers.retrievers.modules.rules.names import analyze_query, shorthands_of, unknown_modules
from querymill_workers.retrievers.modules.rules.scores import AskedPart
from querymill_workers.text.languages import language_of
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.rules.weights import VectorsWeight, choose_weight
from querymill_workers.vectors.rules.worth import VectorsWorth
from querymill_workers.words.asked import Beside, asked_terms

#: The channels of a search. Each part that was given has a text and a vector channel of its own: ``text:1`` and
#: ``vectors:1``.
MODULES: Final = "modules"
TEXT: Final = "text"
VECTORS: Final = "vectors"
#: Weight of the vectors of a text beside its words, if nothing is known of them. On English requests they measured
#: below the words even so.
USUAL_WEIGHT: Final = 0.25


@value
class ChannelText:
    """What one text channel searches: a text, as it is searched by words, what ``beside`` it, and how often each word.

    The words are without the names of modules that no document has, and with the English of what is said in Chinese.
    """

    text: str
    by_words: str
    words: Mapping[str, float] = field(hash=False)
    beside: Beside = field(default_factory=dict, hash=False)


@value
class UnderstoodRequest:
    """What a request asks for. ``unknown`` are the modules that it names and that no document has.

    ``weight`` is that of the vectors, where they are a channel.
    """

    parts: Sequence[AskedPart]
    channels: Sequence[str]
    texts: Mapping[str, ChannelText]
    unknown: tuple[str, ...]
    vocabulary: Vocabulary
    weight: VectorsWeight = VectorsWeight(USUAL_WEIGHT)


def understand_request(
    weighted: Sequence[tuple[str, float]],
    vocabulary: Vocabulary,
    request: ModuleSearch,
    shorthands: Mapping[str, Sequence[str]],
    thesaurus: Thesaurus,
    worth: VectorsWorth | None,
) -> UnderstoodRequest:
    """Understand the weighted parts of a request by the names and the lexicon of its collection.

    ``worth`` is what the vectors are worth there, None if that is not known.
    """
    each_share = shares([weight for _, weight in weighted])
    texts = {TEXT: request.query}
    if request.sub_queries:
        texts = {text_channel(place): text for place, (text, _) in enumerate(weighted, start=1)}
    weight = choose_weight(request.vectors_weight, worth, usual=USUAL_WEIGHT, language=language_of(request.query))
    channels = chosen_channels(request.channels, [request.query, *texts.values()], weight)
    known = shorthands_of(shorthands, vocabulary.names)
    lexicon = vocabulary.lexicon if request.lexicon else EMPTY
    parts = [
        AskedPart(text, weight, share, modules_of(text, shorthands=known, lexicon=lexicon), request.mode)
        for (text, weight), share in zip(weighted, each_share, strict=True)
    ]
    named = [module for part in parts for module in part.modules]
    unknown = unknown_modules([*named, *analyze_query(request.query)], vocabulary.names, match=request.match)
    said = [module.text for module in unknown]
    by_words = {channel: with_english(without_texts(text, said), thesaurus) for channel, text in texts.items()}
    return UnderstoodRequest(
        parts=parts,
        channels=channels,
        texts={channel: channel_text(text, by_words[channel], request, thesaurus) for channel, text in texts.items()},
        unknown=tuple(dict.fromkeys(module.name for module in unknown)),
        vocabulary=vocabulary,
        weight=weight,
    )


def channel_text(text: str, by_words: str, request: ModuleSearch, thesaurus: Thesaurus) -> ChannelText:
    """Return what a text channel searches. That of the whole request also has what the turns before it add."""
    if text != request.query:
        return ChannelText(text, by_words, asked_terms(by_words))
    asked = context_of(request)
    beside = {with_english(added, thesaurus): weight for added, weight in asked.beside.items()}
    return ChannelText(asked.meaning, by_words, asked_terms(by_words, beside), beside)


def shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Divide each weight by their sum: 10 and 3 give 10/13 and 3/13. If all weights are 0, the shares are 0.

    The shares are fractions, so that scores which are equal on paper tie.
    """
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact) or Fraction(1)
    return tuple(weight / total for weight in exact)


def text_channel(place: int) -> str:
    """Return the name of the text channel of a part that was given, from 1."""
    return f"{TEXT}:{place}"


def vectors_channel(text: str) -> str:
    """Return the name of the vector channel that belongs to a text channel: ``vectors:1`` to ``text:1``."""
    return f"{VECTORS}{text.removeprefix(TEXT)}"


def chosen_channels(named: Sequence[str] | None, texts: Iterable[str], weight: VectorsWeight) -> tuple[str, ...]:
    """Return the channels to search: those that the request names, else modules and text.

    Vectors are compared, too, if they are asked for or estimated to be worth it. So they are for a Chinese request: it
    has few words in common with English descriptions.
    """
    if named is not None:
        return tuple(named)
    is_chinese = any(language_of(text) == "zh" for text in texts)
    return (MODULES, TEXT, VECTORS) if is_chinese or weight.is_worth_a_call else (MODULES, TEXT)
