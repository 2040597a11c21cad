"""Labels as the board has them: in the record of a job as JSON, and as a person reads them."""

from collections.abc import Mapping

from pydantic import ValidationError

from querymill_shared.contracts.submit_options import LABELS


def read_labels(written: str | None) -> dict[str, str]:
    """Read the labels of a record. What another program wrote there is none."""
    try:
        return LABELS.validate_json(written) if written else {}
    except ValidationError:
        return {}


def shown_labels(labels: Mapping[str, str]) -> str:
    """Return labels as a person reads them: session=42 turn=7."""
    return " ".join(f"{name}={value}" for name, value in labels.items())
