"""What a process may give up on Linux: system calls (seccomp) and files (Landlock). Standard library only.

The numbers and layouts are those of the kernel's documentation: ``Documentation/userspace-api/seccomp_filter.rst`` and
``landlock.rst``. Both filters hold for every program that the process starts, and can never be taken off.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

# prctl(2).
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_FILTER: Final = 2

#: The architectures whose calls are known here, as the filter sees them.
_ARCHITECTURES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
#: The numbers of system calls on them, in that order; None where there is no such call.
_NUMBERS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # The network, and sockets of this machine.
    "socket": (41, 198), "socketpair": (53, 199), "io_uring_setup": (425, 425),
    # Other programs.
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281), "clone3": (435, 435),
    # Other processes of the same user.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "kcmp": (312, 272), "process_madvise": (440, 440), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "sched_setaffinity": (203, 122), "setpriority": (141, 140),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    # The kernel.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fspick": (433, 433),
    "mount_setattr": (442, 442), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "quotactl": (179, 60), "acct": (163, 89), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # Those that are looked at more closely below.
    "clone": (56, 220), "kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261), "ioctl": (16, 29),
}  # fmt: skip
#: What starting a program takes, and ending it.
_STARTING: Final = ("fork", "vfork", "execve", "execveat", "clone3")
_EXAMINED: Final = ("clone", "kill", "tgkill", "prlimit64", "ioctl")
_X32: Final = 0x40000000
_CLONE_THREAD: Final = 0x00010000
#: The calls of a terminal that type into it.
_TYPING: Final = (0x5412, 0x541C)

# The machine that runs the filter: load a word, compare, return.
_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_HAS_BITS: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
#: Where a call stands in what the filter sees: its number, its architecture, its arguments.
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
_ARGUMENTS_AT: Final = 16

#: The rights of Landlock by the version that brought them.
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_CHANGES: Final = 0x10 | 0x20 | 0x80 | 0x100  # remove folders and files, make folders and files
_ALL_RIGHTS: Final[Mapping[int, int]] = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
#: Ports of the network, from version 4; signals and sockets of others, from version 6.
_NETWORK: Final = 3
_SCOPES: Final = 3
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

Instruction = tuple[int, int, int, int]


class NotConfined(Exception):
    """Raised when this kernel has no such filter, or does not let this process have one."""


def give_up_privileges() -> None:
    """Get no rights from programs that are started, and let no process of the same user look into this one.

    Raises:
        NotConfined: The kernel refuses.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)


def deny_calls(*, may_start_programs: bool = False) -> None:
    """Deny sockets, programs, other processes and the kernel's own affairs, from now on.

    Raises:
        NotConfined: The kernel has no such filter, or the calls of this architecture are not known here.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise NotConfined(f"no system calls are known of {machine}")
    program = call_filter(machine, os.getpid(), may_start_programs=may_start_programs)
    packed = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(packed)))
    _prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(whole))


def call_filter(machine: str, pid: int, *, may_start_programs: bool) -> Sequence[Instruction]:
    """Return the program that judges each system call of a process on an architecture.

    Threads are allowed, and signals to the process itself. A process that may start programs may end them.
    """
    column = list(_ARCHITECTURES).index(machine)
    numbers = {name: number for name, both in _NUMBERS.items() if (number := both[column]) is not None}
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), _refuse(errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT), (_AT_LEAST, 0, 1, _X32), _refuse(errno.EPERM),
    ]  # fmt: skip
    for name, number in numbers.items():
        if name not in _EXAMINED and not (may_start_programs and name in _STARTING):
            # Without clone3 the C library starts threads by clone, whose flags can be seen.
            program += [(_EQUAL, 0, 1, number), _refuse(errno.ENOSYS if name == "clone3" else errno.EPERM)]
    program += _when(numbers["ioctl"], 1, [(_EQUAL, 0, 1, each) for each in _TYPING], refused=True)
    program += _when(numbers["prlimit64"], 0, [(_EQUAL, 0, 1, each) for each in (0, pid)])
    if not may_start_programs:
        program += _when(numbers["clone"], 0, [(_HAS_BITS, 0, 1, _CLONE_THREAD)])
        program += _when(numbers["kill"], 0, [(_EQUAL, 0, 1, pid)])
        program += _when(numbers["tgkill"], 0, [(_EQUAL, 0, 1, pid)])
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _refuse(why: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | why)


def _when(number: int, argument: int, tests: Sequence[Instruction], *, refused: bool = False) -> list[Instruction]:
    """Judge one call by an argument: what passes a test is allowed, or refused, and what passes none the contrary."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), _refuse(errno.EPERM)
    passed, failed = (refuse, allow) if refused else (allow, refuse)
    judged = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument), *(step for test in tests for step in (test, passed)), failed]
    return [(_EQUAL, 0, len(judged), number), *judged]


def allow_files(reading: Iterable[Path], changing: Iterable[Path], running: Iterable[Path] = ()) -> int:
    """Allow files below these folders, or these files, and no others, from now on. Return the version of Landlock.

    Raises:
        NotConfined: The kernel has no Landlock, or does not let this process use it.
    """
    version = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    if version < 1:
        raise NotConfined(f"Landlock: {os.strerror(ctypes.get_errno())}")
    known = _ALL_RIGHTS[max(each for each in _ALL_RIGHTS if each <= version)]
    handled = struct.pack("=QQQ", known, _NETWORK if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    # A kernel that does not know a field takes no longer structure.
    handled = handled[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = int(_libc().syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0))
    if rules < 0:
        raise NotConfined(f"Landlock: {os.strerror(ctypes.get_errno())}")
    try:
        changes = _READ | _LIST | _WRITE | _CHANGES | _REFER | _TRUNCATE
        for paths, rights in ((reading, _READ | _LIST), (changing, changes), (running, _READ | _LIST | _EXECUTE)):
            for path in paths:
                _allow(rules, path, rights & known)
        if _libc().syscall(_RESTRICT_SELF, rules, 0):
            raise NotConfined(f"Landlock: {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(rules)
    return version


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # there is nothing to allow
    try:
        if not path.is_dir():
            rights &= _EXECUTE | _WRITE | _READ | _TRUNCATE
        # Nothing depends on the outcome: what could not be allowed is denied.
        _libc().syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _prctl(what: int, one: int, other: int = 0) -> None:
    if _libc().prctl(what, ctypes.c_ulong(one), ctypes.c_ulong(other), ctypes.c_ulong(0), ctypes.c_ulong(0)):
        raise NotConfined(os.strerror(ctypes.get_errno()))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
