"""Texts of forgotten documents, while `embed` jobs that were accepted before may still store vectors of them."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Protocol

from querymill_shared.board import Claim
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_workers.jobs.ports import Common
from querymill_workers.versions import texts
from querymill_workers.versions.ports import Version, Versions, version_of

EMBED: Final = str(EmbedTexts.model_fields["kind"].default)
OPEN: Final = ("queued", "running")


class TombstonePorts(Common, Protocol):
    """What it takes to leave tombstones of texts."""

    @property
    def versions(self) -> Versions:
        """The versions and tombstones."""
        ...


@dataclass(slots=True)
class ForgottenTexts:
    """The texts that a job forgets. They are noted only if an `embed` job of the collection was open when it began."""

    collection: str
    version: Version
    versions: Versions
    may_be_stored: bool
    keys: set[str] = field(default_factory=set)
    everything: bool = False

    def leave_tombstone(self, ids: Collection[str], contents: Collection[str]) -> None:
        """Leave tombstones of texts with these ids, of parts of documents with these ids, and of equal texts.

        It is called within a change of `versions`.
        """
        keys = {texts.key_of_id(text_id) for text_id in ids} | {texts.key_of_text(text) for text in contents}
        if self.may_be_stored and keys:
            self.versions.leave_tombstones(self.collection, texts.KIND, keys, self.version)
            self.keys.update(keys)

    def leave_tombstone_of_all(self) -> None:
        """Leave a tombstone of all texts of the collection."""
        self.versions.leave_filter_tombstone(self.collection, texts.KIND, self.version)
        self.everything = True

    def without(self, request: EmbedTexts) -> EmbedTexts | None:
        """Return a request that stores vectors without the forgotten texts, or None if it has no other."""
        kept = [text for text in request.texts if not self._hold(text)]
        return request.model_copy(update={"texts": tuple(kept)}) if kept else None

    def _hold(self, text: TextToEmbed) -> bool:
        return self.everything or not self.keys.isdisjoint(texts.keys_of(text))


def forgotten_texts(claim: Claim, ports: TombstonePorts) -> ForgottenTexts:
    """Return what the texts are noted in that a job forgets."""
    collection = claim.request.collection
    may_be_stored = any(job.kind == EMBED and job.state in OPEN for job in ports.board.jobs_of(collection))
    return ForgottenTexts(collection, version_of(claim), ports.versions, may_be_stored)
