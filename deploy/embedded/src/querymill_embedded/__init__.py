"""Real servers from wheels, run by a supervisor under one data folder."""

from querymill_embedded.errors import StackError
from querymill_embedded.folders import default_data_folder
from querymill_embedded.network import free_ports, is_free
from querymill_embedded.parts import ALL, Program, StackPart, is_embedded, settings_of
from querymill_embedded.stack import Stack
from querymill_embedded.status import PartStatus
from querymill_embedded.supervisor import ProcessState
from querymill_embedded.temporary import temporary_stack
from querymill_embedded.wheels import postgres_programs

__all__ = [
    "ALL",
    "PartStatus",
    "ProcessState",
    "Program",
    "Stack",
    "StackError",
    "StackPart",
    "default_data_folder",
    "free_ports",
    "is_embedded",
    "is_free",
    "postgres_programs",
    "settings_of",
    "temporary_stack",
]
