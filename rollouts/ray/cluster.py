"""Which Ray cluster runs the replicas: connecting to it, how many replicas it holds, and leaving it as it was."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypedDict

from learnable.data.errors import LearnableError

RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # or Ray Data, when it looks back after `close`, starts a Ray of its own
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray's future default; until then it warns
    "RAY_LOGGER_LEVEL": "error",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # an actor with constructor arguments is an "error" there
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",  # Ray prints what its nodes report to the driver's stdout
}
LOCAL = "local"  # Ray's word for a Ray of our own


class Node(TypedDict):
    """A node of a cluster, as far as it is read, in Ray's own words."""

    Alive: bool
    NodeID: str
    NodeManagerHostname: str
    Resources: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one replica takes: `bundles` times the resources of `bundle`, each bundle on one node."""

    bundle: Mapping[str, float]
    bundles: int = 1

    def count(self, nodes: Sequence[Node]) -> int:
        """Return how many replicas fit on the living nodes when nothing else runs there.

        >>> node = {"Alive": True, "Resources": {"CPU": 8.0, "GPU": 3.0}}
        >>> Footprint({"GPU": 1, "CPU": 1}, bundles=2).count([node, node])
        3
        """
        alive = [node["Resources"] for node in nodes if node["Alive"]]
        places = sum(min(int(has.get(name, 0) // need) for name, need in self.bundle.items()) for has in alive)
        return places // self.bundles


class Cluster:
    """A connection to a Ray cluster, or to a Ray started on this machine, until `close`.

    `address` is "auto", "host:port" of the head node, or None: what RAY_ADDRESS says, else a Ray of our own. Where this
    process is connected already, that connection is used: the last of these objects closes it, or nobody does where
    none has opened it. Raises `LearnableError` when nothing answers.
    """

    _sharing: ClassVar[set[Cluster]] = set()  # those that use a connection of ours

    def __init__(self, address: str | None = None) -> None:
        if address in (None, "auto"):
            address = os.environ.get("RAY_ADDRESS") or address or LOCAL
        settings = dict(RAY_ENVIRONMENT)
        if address != LOCAL:
            # Ray tries an address where nobody answers for a quarter of an hour. One attempt, of about 20 s:
            settings |= {"RAY_gcs_server_port_wait_time_s": "1", "RAY_py_gcs_connect_timeout_s": "10"}
        for name, value in settings.items():  # before Ray is imported
            os.environ.setdefault(name, value)
        self._ray = _import_ray()
        if not self._ray.is_initialized():
            self._sharing.clear()
            _connect(self._ray, address)
            self._sharing.add(self)
        elif self._sharing:
            self._sharing.add(self)
        _quiet_logs()

    @property
    def has_gpu(self) -> bool:
        """Whether any node has a GPU."""
        return bool(self._ray.cluster_resources().get("GPU"))

    def nodes(self) -> Sequence[Node]:
        """Return the nodes of the cluster, lost ones too."""
        nodes: Sequence[Node] = self._ray.nodes()
        return nodes

    def count(self, footprint: Footprint) -> int:
        """Return how many replicas fit on the nodes that live now."""
        return footprint.count(self.nodes())

    def check_room(self, replicas: int, footprint: Footprint) -> None:
        """Raise `LearnableError` when the cluster can never hold that many replicas."""
        if (fit := self.count(footprint)) >= replicas:
            return
        needs = ", ".join(f"{need * footprint.bundles:g} {name}" for name, need in footprint.bundle.items())
        resources = self._ray.cluster_resources()
        has = ", ".join(f"{resources.get(name, 0):g} {name}" for name in footprint.bundle)
        raise LearnableError(
            f"`replicas` {replicas} does not fit: {fit} of them do, since a replica takes {needs} and the cluster has "
            f"{has}. Ask for fewer replicas, or add nodes with `ray start --address=HEAD:PORT`"
        )

    def close(self) -> None:
        """Disconnect where nobody else uses the connection, and stop Ray if it was started here."""
        if self in self._sharing:
            self._sharing.remove(self)
            if not self._sharing and self._ray.is_initialized():
                self._ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    if address != LOCAL:
        _check_address(address)
    settings = {"include_dashboard": False} if address == LOCAL else {}
    try:
        with _muted_stderr():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as error:  # Ray raises many kinds, RuntimeError and ValueError among them
        raise LearnableError(_explain(address, error)) from error


def _quiet_logs() -> None:
    """Keep Ray Data's log files, and take its logs off the console."""
    logs = logging.getLogger("ray.data")
    for handler in [each for each in logs.handlers if each.get_name() == "console"]:
        logs.removeHandler(handler)
    logging.getLogger("ray.llm").addHandler(logging.NullHandler())  # without one its modules add theirs


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise LearnableError(f"Ray is not installed ({error}): install learnable[ray]") from error
    return ray


def _check_address(address: str) -> None:
    if "://" in address:
        raise LearnableError(
            f"Ray address {address!r}: Ray Data does not work through a Ray client. Run on a machine of the cluster "
            "with `ray_address` auto, or submit the run with `ray job submit`"
        )
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise LearnableError(f"Ray address {address!r} is not one: give `ray_address` as auto or HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, OverflowError) as error:
        raise LearnableError(_explain(address, error)) from error


def _explain(address: str, error: Exception) -> str:
    if "AuthenticationError" in f"{error} {error.__cause__}":
        reason = "it asks for a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints"
    elif isinstance(error, OSError) and address != LOCAL:
        reason = "nobody answers there: start it with `ray start --head`, or correct `ray_address`"
    else:
        reason = " ".join(str(error).split())[:400] or type(error).__name__
    return f"Ray at address {address!r} cannot be used: {reason}"


@contextmanager
def _muted_stderr() -> Iterator[None]:
    """Silence file descriptor 2: Ray's C++ side writes there while it connects, whatever its log level."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
