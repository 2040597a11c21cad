"""What the scores of documents are made of: the parts of a request, and the modules of documents that hit.

share_i         = weight_i / Σ weight_j              (over all parts of the request; a Σ of 0 counts as 1)
score(document) = Σ hits_i × share_i
"""

from collections.abc import Collection
from fractions import Fraction
from typing import Final, Literal

from querymill_shared.values import value
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.names import FoundModule

Mode = Literal["hits", "coverage"]
How = Literal["exact", "suffix", "description"]

#: Decimal places of the scores in results.
SHOWN_PLACES: Final = 6


@value
class AskedPart:
    """A part of the request, the modules it asks for, and its share of all weights."""

    description: str
    weight: float
    share: Fraction
    modules: tuple[FoundModule, ...]
    mode: Mode = "hits"

    @property
    def normalized_weight(self) -> float:
        """The share as a float."""
        return float(self.share)

    @property
    def per_hit(self) -> Fraction:
        """What each module that hits adds to a score."""
        return self.share / len(self.modules) if self.mode == "coverage" and self.modules else self.share


@value
class DocumentSummary:
    """The part of a document that scoring reads: its id, its modules and its description."""

    document: DocumentId
    names: tuple[str, ...]
    description: str


@value
class ModuleRecall:
    """The documents that have a module: ``exactly`` by its exact name, ``all`` by any name that counts."""

    exactly: Collection[DocumentId]
    all: Collection[DocumentId]


@value
class ModuleHit:
    """A module asked for that a document has, how it was matched, and the name it was matched with."""

    module: FoundModule
    how: How
    name: str


@value
class ExplainedHit:
    """A hit as results show it: the module, the rule and words that asked for it, and how it matched which name."""

    module: str
    rule: str
    text: str
    how: str
    name: str


@value
class ExplainedPart:
    """What one part adds to a document's score, as results show it. ``asked`` lists all modules it asks for."""

    description: str
    weight: float
    normalized_weight: float
    hits: int
    modules: tuple[ExplainedHit, ...]
    asked: tuple[str, ...]


@value
class PartHits:
    """The modules of a document that one part of the request asks for."""

    part: AskedPart
    hits: tuple[ModuleHit, ...]

    @property
    def explained(self) -> ExplainedPart:
        """What they add to the score. Σ hits × normalized_weight is the score."""
        return ExplainedPart(
            description=self.part.description,
            weight=self.part.weight,
            normalized_weight=round(self.part.normalized_weight, SHOWN_PLACES),
            hits=len(self.hits),
            modules=tuple(
                ExplainedHit(hit.module.name, hit.module.rule, hit.module.text, hit.how, hit.name) for hit in self.hits
            ),
            asked=tuple(module.name for module in self.part.modules),
        )


@value
class ScoredDocument:
    """A document with at least one hit. ``found`` holds its hits for each part of the request, in order."""

    document: DocumentId
    score: Fraction
    found: tuple[PartHits, ...]

    @property
    def matched(self) -> int:
        """The number of parts that the document matches."""
        return sum(bool(each.hits) for each in self.found)

    @property
    def exact(self) -> int:
        """The number of exact hits."""
        return sum(hit.how == "exact" for each in self.found for hit in each.hits)

    @property
    def keywords(self) -> tuple[str, ...]:
        """The modules that hit, each once, in the order of the parts."""
        modules = [hit.module for each in self.found for hit in each.hits]
        names = {module.key: module.name for module in reversed(modules)}
        return tuple(names[key] for key in dict.fromkeys(module.key for module in modules))
