"""Revisions of a report: the hash of its content, and the model whose vectors its passages have or wait for.

Two revisions of the same content stand side by side while a collection is embedded with another model.
"""

import hashlib
from typing import Final, NewType

from querymill_workers.retrievers.reports.rules.chunking import CHUNKING_VERSION
from querymill_workers.retrievers.reports.rules.indexing import INDEXING_VERSION

#: The hash of a report's content and of the rules that cut it into passages.
Content = NewType("Content", str)
#: A content, and a model.
Revision = NewType("Revision", str)

#: No hash contains it, though the name of a model may.
_MARK: Final = ":"


def content_of(report: str) -> Content:
    """Hash a report, written as JSON, together with the versions of what shapes its passages and their words."""
    return Content(hashlib.sha256(f"{CHUNKING_VERSION}.{INDEXING_VERSION}\n{report}".encode()).hexdigest())


def revision_of(content: Content, model: str) -> Revision:
    """Return the revision of a content with vectors of a model. For example, ``9f86d0…:text-embedding-3-small``."""
    return Revision(f"{content}{_MARK}{model}")


def content_in(revision: Revision) -> Content:
    """Return the content of a revision."""
    return Content(revision.partition(_MARK)[0])
