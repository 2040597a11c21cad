"""The walls between the flats, as the type checker holds them: no function of one can name what only others touch."""

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from mypy import api

from querymill_workers import retrievers

ROOT = Path(__file__).parents[3]
FLATS = [module.name for module in pkgutil.iter_modules(retrievers.__path__)]


def ports_of(flat: str) -> Any:
    """Find the protocol of a flat that says what its flows may touch: of several, the one that has them all."""
    module = importlib.import_module(f"querymill_workers.retrievers.{flat}.ports")
    own = [
        value for name, value in vars(module).items() if name.endswith("Ports") and value.__module__ == module.__name__
    ]
    return max(own, key=lambda ports: len(touched(ports)))


def touched(ports: Any) -> set[str]:
    return {name for cls in ports.__mro__ for name, value in vars(cls).items() if isinstance(value, property)}


def test_a_flat_can_name_its_own_part_of_the_world_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = {flat: touched(ports_of(flat)) for flat in FLATS}
    everything = set().union(*reach.values())
    lines, refused = [], set()
    for flat in FLATS:
        name = ports_of(flat).__name__
        lines.append(f"from querymill_workers.retrievers.{flat}.ports import {name}")
        for attribute in sorted(everything):
            lines.append(f"def {flat}_{attribute}(ports: {name}) -> object: return ports.{attribute}")
            if attribute not in reach[flat]:
                refused.add((len(lines), f'"{name}" has no attribute "{attribute}"'))
    code = tmp_path / "trespass.py"
    code.write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(ROOT)
    report, errors, _ = api.run(["--config-file", "pyproject.toml", "--no-error-summary", str(code)])
    said = {
        (int(line.split(":")[1]), line.split("error: ")[1].split("; maybe")[0].split("  [")[0])
        for line in report.splitlines()
        if "error: " in line
    }
    assert errors == ""
    assert said == refused
    assert len(refused) > len(FLATS)
    for flat, own in {"reports": "reports", "messages": "messages", "modules": "modules", "files": "files"}.items():
        assert all(own not in reach[other] for other in FLATS if other != flat)
