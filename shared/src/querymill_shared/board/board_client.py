"""A client of the board's server that also serves a cluster: it asks the server that holds a command's key."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import redis
from redis.client import Pipeline
from typing_extensions import override

from querymill_shared.board.cluster import Cluster
from querymill_shared.board.slots import Address, is_cluster, runs_everywhere


def cluster_of(client: redis.Redis) -> Cluster | None:
    """Return the cluster that a client asks, None if it asks one server. Raises Unavailable."""
    return client.its_cluster() if isinstance(client, BoardClient) else None


class BoardClient(redis.Redis):
    """A client of a server, or of the cluster that the server belongs to. The first connection tells."""

    _cluster: Cluster | None = None
    _is_one_server: bool | None = None
    #: Connections to each server of a cluster, None for as many as to a server alone.
    connections_each: int | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._asking = threading.Lock()

    def its_cluster(self) -> Cluster | None:
        """Return the cluster that the server belongs to, None if it is none.

        Raises:
            Unavailable: The server is away.
        """
        if self._is_one_server is None:
            with self._asking:
                self._find_servers()
        return self._cluster

    def _find_servers(self) -> None:
        if self._is_one_server is None:
            is_one_server = not is_cluster(_handshake(self))
            if not is_one_server:
                self._cluster = Cluster(self, self._open_server)
            self._is_one_server = is_one_server

    def _open_server(self, address: Address) -> redis.Redis:
        pool = self.connection_pool
        options = {**pool.connection_kwargs, "host": address[0], "port": address[1]}
        options |= {"connection_class": pool.connection_class, "timeout": getattr(pool, "timeout", None)}
        most = self.connections_each or pool.max_connections
        return redis.Redis.from_pool(type(pool)(**options, max_connections=most))

    @override
    def execute_command(self, *args: Any, **options: Any) -> Any:
        cluster = self.its_cluster()
        if cluster is None:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        if runs_everywhere(args):
            return [client.execute_command(*args, **options) for client in cluster.primaries()][-1]  # type: ignore[no-untyped-call]

        def run(client: redis.Redis, commands: Sequence[Any]) -> list[Any]:
            return run_parsed(client, [(command, options if command is args else {}) for command in commands])

        reply = cluster.follow(args, run)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @override
    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:  # as the library calls it
        cluster = self.its_cluster()
        if cluster is None:
            return super().pipeline(transaction, shard_hint)
        return ClusterPipeline(self, cluster)

    @override
    def scan_iter(self, *args: Any, **options: Any) -> Iterator[Any]:
        cluster = self.its_cluster()
        return super().scan_iter(*args, **options) if cluster is None else cluster.scan(*args, **options)

    @override
    def close(self) -> None:
        super().close()
        if self._cluster is not None:
            self._cluster.close()

    def disconnect(self) -> None:
        """Close the connections, those that are lent too: who waits for a reply is told at once."""
        self.connection_pool.disconnect()
        if self._cluster is not None:
            self._cluster.disconnect()


class ClusterPipeline(Pipeline):
    """A pipeline whose commands go to the servers that hold their keys. It is no transaction."""

    def __init__(self, client: BoardClient, cluster: Cluster) -> None:
        super().__init__(client.connection_pool, client.response_callbacks, False, None)  # noqa: FBT003
        self._cluster = cluster

    @override
    def execute(self, raise_on_error: bool = True) -> list[Any]:  # as the library calls it
        stack, self.command_stack = self.command_stack, []
        options_of = {id(args): options for args, options in stack}

        def run(client: redis.Redis, commands: Sequence[Any]) -> list[Any]:
            return run_parsed(client, [(command, options_of.get(id(command), {})) for command in commands])

        replies = self._cluster.run_all([args for args, _ in stack], run)
        if raise_on_error:
            self.raise_first_error(stack, replies)  # type: ignore[no-untyped-call]
        return replies


def run_parsed(client: redis.Redis, asked: Sequence[tuple[Sequence[Any], dict[str, Any]]]) -> list[Any]:
    """Run commands with their options on one server, and return what the client library makes of the replies."""
    pipeline: Any = redis.Redis.pipeline(client, transaction=False)
    for command, options in asked:
        pipeline.execute_command(*command, **options)
    replies: list[Any] = pipeline.execute(raise_on_error=False)
    return replies


def _handshake(client: redis.Redis) -> object:
    """Return what a server said of itself when a connection to it was opened."""
    pool: Any = client.connection_pool
    connection = pool.get_connection()
    try:
        if connection.handshake_metadata:
            return connection.handshake_metadata
        connection.send_command("HELLO")  # version 2 of the protocol begins without
        return connection.read_response()
    except redis.ResponseError:
        return None
    finally:
        pool.release(connection)
