"""The walls around the process that reads documents, as this machine has them."""

from typing import Final

from querymill.cli.probing import DoctorFinding
from querymill_reading.document import Unreadable
from querymill_reading.process import FileReader
from querymill_reading.sandbox import NO_NETWORK, NO_PROGRAMS, OWN_FILES

_NAME: Final = "document reader"
#: What is said where a wall does not stand.
_MISSING: Final = {
    OWN_FILES: "may read other files of its user (Landlock, from Linux 5.13, would prevent it)",
    NO_NETWORK: "may open connections (seccomp would prevent it)",
    NO_PROGRAMS: "may start programs (seccomp would prevent it)",
}


def reader_finding() -> DoctorFinding:
    """Start the process that reads documents, and say which walls stand around it."""
    try:
        with FileReader() as reader:
            walls = reader.walls()
    except (Unreadable, OSError) as error:
        return DoctorFinding(_NAME, "does not start", ok=False, mend=str(error))
    lacks = [said for wall, said in _MISSING.items() if wall not in walls]
    return DoctorFinding(_NAME, ", ".join(walls), ok=True, mend=f"it {' and '.join(lacks)}" if lacks else "")
