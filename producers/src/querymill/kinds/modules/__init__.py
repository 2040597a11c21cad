"""The `modules` kind: code, found by the modules it uses."""

from typing import Final

from querymill.kinds.kind import Kind
from querymill.kinds.modules.demo import STEPS
from querymill.kinds.modules.lines import LINES
from querymill.kinds.modules.options import options
from querymill.kinds.modules.screen import show
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch

KIND: Final = Kind("modules", ModuleSearch, ModuleResult, options=options, show=show, ingest=LINES, demo=STEPS)
