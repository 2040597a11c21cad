"""Calibration profiles, one per embedding model: what raw cosines mean, as `querymill calibrate` measured it."""

import json
from importlib import resources
from pathlib import Path

from querymill_workers.text.calibration import IDENTITY, Calibration


def calibration_of(model: str, path: str = "") -> Calibration:
    """Return a model's calibration from the profile at ``path``, or else from the built-in one.

    A model without a profile gets the identity.

    Raises:
        ValueError: The file is not a profile of this model.
    """
    if path:
        return _read(Path(path).read_text(encoding="utf-8"), model, path)
    bundled = resources.files(__name__) / f"{model}.json"
    return _read(bundled.read_text(encoding="utf-8"), model, bundled.name) if bundled.is_file() else IDENTITY


def _read(text: str, model: str, file: str) -> Calibration:
    try:
        profile = json.loads(text)
        points = tuple((float(raw), float(similarity)) for raw, similarity in profile["points"])
        measured = profile["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"QUERYMILL_CALIBRATION: {file} is not a calibration profile: {error}") from error
    if measured != model:
        raise ValueError(
            f"QUERYMILL_CALIBRATION: {file} is a profile of {measured!r}, but the embedding model is {model!r}"
        )
    return Calibration(points)
