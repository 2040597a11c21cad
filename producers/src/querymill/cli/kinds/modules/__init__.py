"""The `modules` kind: code, found by the modules it uses."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.modules.demo import STEPS
from querymill.cli.kinds.modules.screen import show
from querymill.cli.kinds.modules.weights import weighed
from querymill.ingesting.kinds.modules import KIND as LOADABLE
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch

HELP: Final = (
    "Search code by the modules it uses; shows the hits, which rule found them, and what their scores are made of."
    '\n\nA sub-query may begin with its weight: --sub-query "8: a cone".'
)

KIND: Final = Kind(
    LOADABLE,
    ModuleSearch,
    ModuleResult,
    help=HELP,
    flags={"sub_queries": "--sub-query"},
    read=weighed,
    show=show,
    demo=STEPS,
)
