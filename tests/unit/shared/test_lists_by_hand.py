"""Lists that repeat what stands elsewhere name all of it."""

import ast
import re
from pathlib import Path
from typing import Final

from querymill.keys import STORED_AT
from querymill_shared.board import copying, dead, erasure, fleet_settings
from querymill_shared.board.keys import API_KEYS
from querymill_shared.settings import Settings
from querymill_workers.retrievers.modules.stores.mongo import SERVER_COLLECTIONS

ROOT: Final = Path(__file__).parents[3]
SHARED, WORKERS = ROOT / "shared/src/querymill_shared", ROOT / "workers/src/querymill_workers"
STORES: Final = WORKERS / "retrievers/modules/stores"
#: What `keys.of_job` names that belongs to a shard.
OF_SHARD: Final = frozenset(("due", "recent", "dead"))
JOB: Final = "0" * 32


def named_parts() -> set[str]:
    """The parts of a job that the board's calls and scripts name."""
    parts = set()
    for path in SHARED.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) == "of_job":
                parts |= {word.value for word in call.args[1:] if isinstance(word, ast.Constant)}
    for path in SHARED.rglob("*.lua"):
        parts |= set(re.findall(r"""stem\w*(?:\([^()]*\))? *\.\. *['"](\w+)['"]""", path.read_text()))
    return {str(part) for part in parts} - OF_SHARD


def test_every_key_of_a_job_is_copied() -> None:
    assert len(named_parts()) > 5
    # A trail outlives its job, so it is copied beside the jobs.
    assert named_parts() - {"trail"} <= set(copying.PARTS)


def test_every_key_of_a_job_that_holds_a_text_is_deleted_with_it() -> None:
    """Leaders and followers share their keys by scripts of their own."""
    for call in (dead.drop(JOB), erasure.erase_job(JOB)):
        parts = {key.rpartition(":")[2] for key in call.keys} - OF_SHARD
        assert set(copying.PARTS) - parts == {"shared", "callers"}


def test_every_collection_of_mongodb_is_copied() -> None:
    texts = "\n".join(path.read_text() for path in STORES.glob("mongo*.py"))
    kinds = {f"module_{kind}" for kind in re.findall(r"""(?:_rows|_find|_newest|_counting)\(["'](\w+)["']""", texts)}
    named = set(re.findall(r"""\[["'](module_\w+)["']\]""", texts)) | kinds
    assert len(named) > 3
    assert named <= set(SERVER_COLLECTIONS)


def test_a_setting_of_gateways_alone_does_not_spread_to_other_hosts() -> None:
    assert set(Settings.model_fields) >= fleet_settings._OWN
    of_workers = "\n".join(
        path.read_text()
        for root in (SHARED, WORKERS)
        for path in root.rglob("*.py")
        if path.parent.name != "settings" and path.name != "fleet_settings.py"
    )
    of_gateway = "\n".join(path.read_text() for path in (ROOT / "producers/src/querymill/gateway").rglob("*.py"))
    alone = {
        name
        for name in Settings.model_fields
        if re.search(rf"\b{name}\b", of_gateway) and not re.search(rf"\b{name}\b", of_workers)
    }
    assert alone - fleet_settings._OWN == set()


def test_backups_know_where_the_gateway_has_its_keys() -> None:
    assert STORED_AT == API_KEYS
