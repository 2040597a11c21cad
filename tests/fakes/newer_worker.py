"""A worker of a release to come: it knows version 99 of every request, which this release leaves to it."""

from querymill_shared.board import replies
from querymill_shared.contracts.jobs import JobRequest, decode_request
from querymill_workers.app import app


def decode_version_99(text: str | bytes) -> JobRequest:
    """Read a request of either version."""
    return decode_request(str(text).replace('"version": 99', '"version": 1'))


replies.decode_request = decode_version_99  # type: ignore[attr-defined]  # what a newer release would have

__all__ = ["app"]
