"""The `modules` kind: code, found by the modules it uses."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.modules.demo import STEPS
from querymill.cli.kinds.modules.options import options
from querymill.cli.kinds.modules.screen import show
from querymill.ingesting.kinds.modules import KIND as LOADABLE
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch

KIND: Final = Kind(LOADABLE, ModuleSearch, ModuleResult, options=options, show=show, demo=STEPS)
