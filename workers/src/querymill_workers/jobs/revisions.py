"""Hashes that tell whether a stored version is still the requested one."""

from typing import NewType

#: The hash of a report's content and of everything that shapes its passages and vectors.
Revision = NewType("Revision", str)


#: The hash of a text and of everything that shapes its vector, except the model.
ContentHash = NewType("ContentHash", str)
