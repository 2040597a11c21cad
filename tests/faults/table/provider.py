"""Lines about the provider of the models, which is ill for some seconds in each way."""

from functools import partial
from typing import Final

from tests.faults.table.lines import line
from tests.faults.table.models import ill
from tests.faults.table.stage import Stage

_STORMS: Final = {
    "provider: 500": ("every call of a model is answered with 500 for 3 to 8 s", ("500",)),
    "provider: 429": ("every call of a model is answered with 429 for 3 to 8 s", ("429",)),
    "provider: hangs": ("no call of a model is answered for 3 to 8 s", ("hang",)),
    "provider: slow drip": ("every reply of a model is blanks, one each half second, for 3 to 8 s", ("slow drip",)),
    "provider: wrong shapes": (
        "HTML, half replies, resets, a missing vector, short vectors and nested brackets in turn for 3 to 8 s",
        ("HTML", "half", "reset", "one missing", "short vectors", "nested"),
    ),
}


def _storm(illnesses: tuple[str, ...], stage: Stage) -> None:
    with ill(stage.provider, *illnesses):
        # What is cached asks no model.
        stage.forget_replies()
        stage.pause(3, 8)


for _name, (_says, _illnesses) in _STORMS.items():
    line(_name, _says)(partial(_storm, _illnesses))
