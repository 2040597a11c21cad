"""The embedded stack: start, inspect and stop servers and programs under one data folder."""

import fcntl
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from querymill_embedded.errors import StackError
from querymill_embedded.folders import create_data_folder, default_data_folder
from querymill_embedded.network import free_ports
from querymill_embedded.parts import ALL, Program, StackPart, check_programs, endpoints, in_order
from querymill_embedded.passwords import choose_passwords, passwords_of
from querymill_embedded.processes import ProcessIdentity, end_session, listens, supervisor_by_pid_file
from querymill_embedded.readiness import await_ready
from querymill_embedded.servers import leash_process, part_process, prepare_parts, program_process
from querymill_embedded.state import (
    PROGRAMS_FILE,
    STATE_FILE,
    Control,
    StackState,
    read_ports,
    write_ports,
    write_programs,
)
from querymill_embedded.status import PartStatus, part_statuses
from querymill_embedded.supervisor import (
    CONFIGURATION_FILE,
    PID_FILE,
    ProcessState,
    StopGroup,
    Supervised,
    SupervisorClient,
    configuration,
    start_supervisor,
)

#: Called with the stack's environment when all servers are ready, before the programs start.
Prepare = Callable[[Mapping[str, str]], None]

_READY_WITHIN_S = 90.0
#: The longest stop of a server, and some seconds for the supervisor.
_SERVERS_STOP_WITHIN_S = 40.0
_CONTROL_PORT = "supervisor"
_AT_REST = frozenset({ProcessState.STOPPED, ProcessState.EXITED, ProcessState.FATAL})


class Stack:
    """The stack of one data folder.

    Args:
        data: the data folder; None means `default_data_folder()`.
        owner: if given, the stack stops and its folder is removed when this process ends. PostgreSQL then does not
            flush its data to the disk.
    """

    def __init__(self, data: Path | None = None, *, owner: ProcessIdentity | None = None) -> None:
        self.data = (data or default_data_folder()).expanduser().resolve()
        self._owner = owner

    def up(
        self,
        *,
        parts: Collection[StackPart] = ALL,
        programs: Sequence[Program] = (),
        prepare: Prepare | None = None,
    ) -> None:
        """Start servers, call `prepare`, then start programs. Return when all are ready. After a failure, nothing runs.

        If the stack already runs, it keeps its programs, and only processes that have given up are started again.

        Raises:
            StackError: a part cannot start, or the running stack lacks one of `parts`.
            ValueError: a program's name is taken.
        """
        check_programs(programs)
        create_data_folder(self.data)
        with self._locked():
            state = StackState.read(self.data)
            if state is not None and state.supervisor.is_alive():
                self._keep_up(state, parts)
            else:
                self._clear(state)
                self._start(in_order(parts), programs, prepare)

    def down(self) -> None:
        """Stop programs, then servers. Return when no process is left. If nothing runs, do nothing."""
        if self.data.is_dir():
            with self._locked():
                self._clear(StackState.read(self.data))

    def environment(self) -> dict[str, str]:
        """Return the settings that lead to the started parts, as environment variables.

        Raises:
            StackError: no stack runs.
        """
        state = StackState.read(self.data)
        if state is None:
            raise StackError(f"no stack is up in {self.data}; run `querymill up` to start one")
        return endpoints(state.ports, passwords_of(state.ports, self.data))

    def status(self) -> list[PartStatus]:
        """Return the status of every part and program, in the order of their start, or [] if no stack runs."""
        state = StackState.read(self.data)
        return [] if state is None else part_statuses(state, self.data)

    def serves(self, name: str) -> bool:
        """Whether a program's own process listens on its port now, and not another process that took the port."""
        state = StackState.read(self.data)
        port = None if state is None else state.programs.get(name)
        if state is None or port is None:
            return False
        try:
            pid = SupervisorClient(state.control).processes()[name].pid
        except StackError:
            return False
        return pid is not None and listens(pid, port)

    def _start(
        self,
        parts: Sequence[StackPart],
        programs: Sequence[Program],
        prepare: Prepare | None,
    ) -> None:
        # Exports that were pasted, and a `.env`, lead to the same servers after a restart.
        chosen = free_ports([*parts, _CONTROL_PORT], preferred=read_ports(self.data))
        control = Control(chosen[_CONTROL_PORT], user="querymill", password=secrets.token_hex(16))
        ports = {part: chosen[part] for part in parts}
        write_ports(self.data, ports)
        passwords = choose_passwords(ports, self.data)
        write_programs(self.data, programs, endpoints(ports, passwords))
        start_supervisor(self.data, configuration(self.data, control, self._processes(ports, programs)))
        state = None
        try:
            client = SupervisorClient(control)
            state = StackState(
                supervisor=ProcessIdentity.of(client.pid()),
                control=control,
                ports=ports,
                programs={program.name: program.port for program in programs},
                stop_within_s=_SERVERS_STOP_WITHIN_S + max((program.stop_wait_s for program in programs), default=0),
            )
            state.write(self.data)
            self._bring_up(client, state, prepare)
        except BaseException:
            self._clear(state)
            raise

    def _processes(self, ports: Mapping[StackPart, int], programs: Sequence[Program]) -> list[Supervised]:
        durable = self._owner is None
        processes = [part_process(part, data=self.data, port=port, durable=durable) for part, port in ports.items()]
        processes += [program_process(program, self.data) for program in programs]
        if self._owner is not None:
            processes.append(leash_process(self.data, self._owner))
        return processes

    def _bring_up(self, client: SupervisorClient, state: StackState, prepare: Prepare | None) -> None:
        # The other servers load while the database cluster is created.
        prepare_parts(state.ports, data=self.data, durable=self._owner is None)
        for part in state.ports:
            client.start(StopGroup.SERVERS, part)
        self._await(client, state.ports, ())
        if prepare is not None:
            prepare(endpoints(state.ports, passwords_of(state.ports, self.data)))
        for name in state.programs:
            client.start(StopGroup.PROGRAMS, name)
        self._await(client, {}, tuple(state.programs))
        reports = client.processes()
        pids = {name: pid for name in state.names if (pid := reports[name].pid) is not None}
        replace(state, pids=pids).write(self.data)

    def _keep_up(self, state: StackState, parts: Collection[StackPart]) -> None:
        missing = [part.value for part in in_order(parts) if part not in state.ports]
        if missing:
            raise StackError(
                f"the stack in {self.data} runs without {', '.join(missing)}; run `querymill down`, then `querymill up`"
            )
        client = SupervisorClient(state.control)
        for report in client.processes().values():
            if report.state in _AT_REST:
                client.start(report.group, report.name)
        self._await(client, state.ports, tuple(state.programs))

    def _await(self, client: SupervisorClient, ports: Mapping[StackPart, int], programs: Sequence[str]) -> None:
        await_ready(client, ports=ports, programs=programs, data=self.data, timeout_s=_READY_WITHIN_S)

    def _clear(self, state: StackState | None) -> None:
        """Stop the processes of a state, or of the pid file if an `up` left no state. Remove the files."""
        if state is not None:
            end_session(state.supervisor, self.data, wait_s=state.stop_within_s)
        elif (stray := supervisor_by_pid_file(self.data / PID_FILE, self.data)) is not None:
            end_session(stray, self.data, wait_s=_SERVERS_STOP_WITHIN_S)
        for name in (STATE_FILE, PROGRAMS_FILE, CONFIGURATION_FILE):
            (self.data / name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Allow one `up` or `down` per folder at a time. The system releases the lock when its process ends."""
        with (self.data / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
