"""What may happen at each call: to the process that makes it, on the way, at the server, or to the bells and clocks."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import redis

from querymill_shared.board import scripts
from querymill_shared.queues import Queue
from querymill_workers.jobs.faults import Unavailable
from tests.simulation.plans import Fault
from tests.simulation.scheduler import SECOND, Killed, Process, Scheduler
from tests.simulation.server import (
    CUT,
    NOTHING,
    REPLY_LIMIT,
    KeyServer,
    SimulatedConnection,
    read_commands,
    script_names,
)

#: Commands that wait at the server for something to be pushed.
_WAITING: Final = (b"BLMPOP", b"XREAD")


class Troubles:
    """Has the faults of a plan happen. ``died`` hears of each process that was killed, and when it begins again."""

    def __init__(
        self, scheduler: Scheduler, server: KeyServer, faults: Sequence[Fault], died: Callable[[Process, float], None],
        outside: Process, went_back: Callable[[], None], write_rubbish: Callable[[float], None],
    ) -> None:  # fmt: skip
        self._scheduler = scheduler
        self._server = server
        self._died = died
        self._outside = outside
        self._went_back = went_back
        self._write_rubbish = write_rubbish
        self._at: dict[int, list[Fault]] = {}
        for fault in faults:
            self._at.setdefault(fault.call, []).append(fault)
        self.calls = 0
        self.away_until = {"store": 0, "provider": 0}
        #: When the board lost something, in microseconds: from, to.
        self.lost: list[tuple[int, int]] = []
        self.happened: list[Fault] = []
        #: What the server's disk has, and since when, of a server that is about to die.
        self._tails: list[list[Any]] = []

    def at_board(self, connection: SimulatedConnection, sent: bytes) -> None:
        """Have commands go to the board's server."""
        commands = read_commands(sent)
        process = connection.process
        what = b" ".join(commands[0][:4])
        faults = self._count(what, lambda: "board " + " | ".join(_named(command) for command in commands[:3]))
        self._before(process, faults, connection)
        if self._server.is_down:
            raise redis.ConnectionError("Error 111 connecting: Connection refused.")
        self._perform(connection, commands)
        self._after(process, faults, connection)

    def at_store(self, process: Process, what: str) -> None:
        """Have a call of a store happen, or fail."""
        self._at_service(process, "store", what)

    def at_provider(self, process: Process, what: str) -> None:
        """Have a call of a model happen, or fail."""
        self._at_service(process, "provider", what)

    def _at_service(self, process: Process, service: str, what: str) -> None:
        faults = self._count(what.encode(), lambda: f"{service} {what}")
        self._before(process, faults, None)
        if self._scheduler.now < self.away_until[service]:
            raise Unavailable(f"{service}: away", code="store_down" if service == "store" else "provider_down")
        self._after(process, faults, None)

    def _count(self, what: bytes, named: Callable[[], str]) -> Sequence[Fault]:
        self._scheduler.check_alive()
        self.calls += 1
        faults = self._at.get(self.calls, ())
        number, happens = self.calls, "".join(f" !{each.trouble} {each.amount:g}" for each in faults)
        self._scheduler.note(what, lambda: f"#{number} {named()}{happens}")
        self.happened += faults
        return faults

    def _latency(self) -> int:
        chances = self._scheduler.chances
        kind = chances.random()
        if kind < 0.85:
            return chances.randrange(100, 900)
        return chances.randrange(1_000, 30_000) if kind < 0.985 else chances.randrange(50_000, 900_000)

    def _before(self, process: Process, faults: Sequence[Fault], connection: SimulatedConnection | None) -> None:
        for fault in faults:
            self._happen(fault, process)
        self._scheduler.pass_time(self._latency())
        for fault in faults:
            match fault.trouble:
                case "kill":
                    self.kill(process, fault.amount)
                case "cut":
                    self._fail(connection)
                case "late":
                    self._delay(fault.amount, connection)
                case _:
                    pass

    def _after(self, process: Process, faults: Sequence[Fault], connection: SimulatedConnection | None) -> None:
        for fault in faults:
            match fault.trouble:
                case "kill_after":
                    self.kill(process, fault.amount)
                case "freeze_after":
                    self._scheduler.freeze(process, int(fault.amount * SECOND))
                    self._scheduler.pass_time(1_500)
                case "no_reply":
                    self._fail(connection)
                case _:
                    pass

    def _fail(self, connection: SimulatedConnection | None) -> None:
        if connection is None:
            raise Unavailable("PostgreSQL: OperationalError: the connection was lost", code="store_down")
        connection.disconnect()
        raise redis.ConnectionError(CUT)

    def _delay(self, seconds: float, connection: SimulatedConnection | None) -> None:
        """Keep what was sent on the way. The caller gives up after some time; what it sent arrives nevertheless."""
        wait = int(seconds * SECOND)
        self._scheduler.pass_time(min(wait, REPLY_LIMIT))
        if wait > REPLY_LIMIT and connection is not None:
            raise redis.TimeoutError("Timeout reading from socket")

    def kill(self, process: Process, again_in_s: float) -> None:
        """End the process of the actor that runs, and begin it again some time later."""
        if process is self._outside:
            return
        self._end(process, again_in_s)
        raise Killed

    def _happen(self, fault: Fault, process: Process) -> None:
        amount = int(fault.amount * SECOND)
        match fault.trouble:
            case "freeze":
                self._scheduler.freeze(process, amount)
            case "stop":
                self._stop(process, fault.amount)
            case "worker_clock":
                process.clock_ahead += amount
            case "bells_lost" | "bells_doubled" | "bells_shuffled":
                self._disturb_bells(fault.trouble)
            case "store_away" | "provider_away":
                self.away_until[fault.trouble.removesuffix("_away")] = self._scheduler.now + amount
            case _:
                self._happen_at_server(fault)

    def _happen_at_server(self, fault: Fault) -> None:
        match fault.trouble:
            case "board_clock":
                self._server.clock_ahead += int(fault.amount * SECOND)
            case "restart" | "empty":
                self._restart(fault.amount, is_emptied=fault.trouble == "empty")
            case "lose_tail":
                self._lose_tail(fault.amount)
            case "rubbish":
                self._write_rubbish(fault.amount)
            case _:
                pass

    def _stop(self, process: Process, again_in_s: float) -> None:
        """Have a process do what it has to do before it ends, and begin again some time after its end."""
        if process is self._outside or process.is_stopping:
            return
        process.is_stopping = True

        def stop() -> None:
            for do in process.on_stop:
                do()
            self._end(process, again_in_s)

        self._scheduler.spawn(process, stop, "stop")

    def _end(self, process: Process, again_in_s: float) -> None:
        self._scheduler.note(f"{process.name} ends".encode())
        self._scheduler.kill(process)
        self._died(process, again_in_s)

    def _disturb_bells(self, trouble: str) -> None:
        for queue in Queue:
            bells = self._server.queue_of_bells(queue.value)
            if bells is None:
                continue
            rung = list(bells.values())
            if trouble == "bells_shuffled":
                self._scheduler.chances.shuffle(rung)
            rung = [] if trouble == "bells_lost" else rung * 2 if trouble == "bells_doubled" else rung
            self._server.ask("DEL", queue.value)
            for bell in rung:
                self._server.ask("RPUSH", queue.value, bell)

    def _restart(self, down_s: float, *, kept: Any = None, since: int | None = None, is_emptied: bool = False) -> None:
        if is_emptied:  # another server, whose clock is behind
            self._server.clock_ahead -= int(3 * down_s * SECOND)
        if is_emptied or kept is not None:
            self.lost.append((0 if since is None else since, self._scheduler.now))
        self._server.restart(kept, is_emptied=is_emptied)
        if is_emptied or kept is not None:
            self._went_back()
        self._note_on_disk()  # a server that starts has what its disk has
        if down_s:
            self._server.is_down = True
            self._scheduler.spawn(self._outside, self._come_back, "server", after=int(down_s * SECOND))

    def _come_back(self) -> None:
        self._server.is_down = False

    def _lose_tail(self, seconds: float) -> None:
        on_disk = [self._server.remember(), self._scheduler.now]
        self._tails.append(on_disk)

        def die() -> None:
            self._scheduler.note(b"the server dies, and has lost its last second")
            kept, since = on_disk
            self._restart(0.5, kept=kept, since=since)
            self._tails.remove(on_disk)

        self._scheduler.spawn(self._outside, die, "server", after=int(seconds * SECOND))

    def _wait_for_disk(self) -> bytes:
        """Wait until the server writes to its disk, as it does once a second."""
        self._scheduler.pass_time(self._scheduler.chances.randrange(SECOND))
        self._note_on_disk()
        return b"*2\r\n:1\r\n:0\r\n"

    def _note_on_disk(self) -> None:
        for on_disk in self._tails:
            on_disk[:] = [self._server.remember(), self._scheduler.now]

    def _perform(self, connection: SimulatedConnection, commands: Sequence[Sequence[bytes]]) -> None:
        for place, command in enumerate(commands):
            if place and self._scheduler.chances.random() < 0.02:
                self._scheduler.pass_time(self._latency())
            reply = self._wait_for_disk() if command[0] == b"WAITAOF" else self._server.perform(command)
            if reply == NOTHING and command[0] in _WAITING:
                connection.wait_at_server(command)
            else:
                connection.receive(reply)


def _named(command: Sequence[bytes]) -> str:
    if command[0] == b"EVALSHA":
        said = b" ".join([*command[3:4], *command[3 + int(command[2]) :][:4]]).decode("utf-8", "replace")
        return f"{_script_of(command[1].decode())} {said[:90]}"
    return b" ".join(command[:4]).decode("utf-8", "replace")[:90]


def _script_of(digest: str) -> str:
    return next((name for name in script_names() if scripts.digest(name) == digest), digest[:8])
