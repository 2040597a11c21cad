"""Hashes that tell whether what is stored is still what was asked for."""

from typing import NewType

#: Hashes a report's content together with everything that shapes its passages and vectors.
Revision = NewType("Revision", str)


#: Hashes a text together with everything but the model that shapes its vector.
ContentHash = NewType("ContentHash", str)
