"""The weights of the evidence for a file, in the form that `querymill calibrate-files` writes."""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from querymill_workers.retrievers.files.rules.relevance import FileProfiles, RelevanceProfile
from querymill_workers.text.calibration import Calibration


def file_profiles(path: str = "") -> FileProfiles:
    """Read the profiles from a file, or those of the package if no path is given.

    Raises:
        ValueError: The file does not hold relevance profiles.
    """
    source = Path(path) if path else resources.files(__name__) / "files.json"
    try:
        written = json.loads(source.read_text(encoding="utf-8"))
        of_vectors = written.get("vectors")
        return FileProfiles(_read(written["words"]), None if of_vectors is None else _read(of_vectors))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"QUERYMILL_FILE_RELEVANCE: {path or source.name} does not hold relevance profiles: {error}"
        ) from error


def _read(profile: Mapping[str, Any]) -> RelevanceProfile:
    return RelevanceProfile(
        weights={str(name): float(weight) for name, weight in profile["weights"].items()},
        bands=Calibration(tuple((float(total), float(worth)) for total, worth in profile["bands"])),
    )
