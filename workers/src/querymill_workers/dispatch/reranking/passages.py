"""What the judge reads of a candidate: the text that was found, with what it is called."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.files.search import FileHit
from querymill_shared.contracts.kinds import KindHit
from querymill_shared.contracts.modules.search import ModuleDocumentHit
from querymill_shared.contracts.search import AnySearch, JointHit
from querymill_workers.dispatch.joint.evidence import text_of
from querymill_workers.dispatch.ports import Ports
from querymill_workers.retrievers.files.search.evidence import excerpted
from querymill_workers.services.judging import PASSAGE_TOKENS
from querymill_workers.text.tokens import cut

Candidate = KindHit | JointHit
#: What stands for the text of a candidate that has none.
NO_TEXT: Final = "(no text)"


def passages_of(candidates: Sequence[Candidate], batch: slice, request: AnySearch, ports: Ports) -> Mapping[str, str]:
    """Return the passages of a batch of candidates, each by its place among all, from 1.

    Raises:
        Unavailable: The store of the code is away.
    """
    places = range(1, len(candidates) + 1)[batch]
    code = code_of(candidates[batch], request, ports)
    return {
        str(place): cut(passage_of(hit, code), max_tokens=PASSAGE_TOKENS) or NO_TEXT
        for place, hit in zip(places, candidates[batch], strict=True)
    }


def passage_of(candidate: Candidate, code: Mapping[tuple[str, str], str]) -> str:
    """Return what the judge reads of a candidate. ``code`` has the excerpts of files."""
    hit = own_hit(candidate)
    if isinstance(hit, FileHit):
        collection = candidate.collection if isinstance(candidate, JointHit) else ""
        return code.get((collection, hit.path)) or text_of(hit)
    return f"{text_of(hit)}\n{hit.code}" if isinstance(hit, ModuleDocumentHit) else text_of(hit)


def own_hit(candidate: Candidate) -> KindHit:
    """Return the hit of its kind that a candidate is."""
    return candidate.hit if isinstance(candidate, JointHit) else candidate


def code_of(candidates: Sequence[Candidate], request: AnySearch, ports: Ports) -> dict[tuple[str, str], str]:
    """Return the excerpts of files, by collection ("" for that of the request) and path: results hold no code."""
    found: dict[str, list[FileHit]] = {}
    for candidate in candidates:
        hit = own_hit(candidate)
        if isinstance(hit, FileHit):
            found.setdefault(candidate.collection if isinstance(candidate, JointHit) else "", []).append(hit)
    code: dict[tuple[str, str], str] = {}
    for collection, hits in found.items():
        contents = ports.files.contents(collection or request.collection, [hit.path for hit in hits])
        for hit in hits:
            if hit.path in contents:
                lines = [(part.first, part.last) for part in hit.excerpt]
                code[collection, hit.path] = excerpted(hit.path, contents[hit.path], lines)
    return code
