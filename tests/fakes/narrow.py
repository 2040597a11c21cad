"""Ports with no more than a protocol names: what else a flow touches is not there."""

from types import SimpleNamespace
from typing import Any

from querymill_workers.dispatch.ports import Ports


def narrowed(ports: Ports, protocol: type) -> Any:
    """Keep the fields of ports that a protocol names, and nothing else."""
    names = {name for base in protocol.__mro__ for name, value in vars(base).items() if isinstance(value, property)}
    return SimpleNamespace(**{name: getattr(ports, name) for name in names})
