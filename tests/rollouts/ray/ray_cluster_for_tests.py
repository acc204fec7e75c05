"""A Ray cluster of several nodes on this machine's loopback, for tests: nothing of it outlives its block."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 300
STOP_SECONDS = 20
OBJECT_STORE = 100 << 20  # bytes a node; Ray takes no less than 75 MiB
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # by default a cluster asks for the token in ~/.ray, if there is one
    "RAY_worker_niceness": "0",  # 15 by default: beside another worker's engine it would wait for ever
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or Ray replaces 127.0.0.1 by this machine's address elsewhere
}

SCRIPT = """
import json, os, sys, time
from ray._common.utils import get_default_ray_temp_dir
from ray._private import services
from ray.cluster_utils import Cluster

find, patience = services.get_node, time.monotonic() + 280

def find_patiently(*wanted):  # Ray gives a node 30 s to start, which a busy machine needs longer for
    while True:
        try:
            return find(*wanted)
        except RuntimeError:
            time.sleep(0.5)
            if time.monotonic() > patience:
                raise

services.get_node = find_patiently
settings = json.loads(sys.argv[1])
os.makedirs(get_default_ray_temp_dir(), exist_ok=True)  # Ray writes its address there, wherever `temp_dir` is
cluster = Cluster()
nodes = [cluster.add_node(**settings, env_vars=variables) for variables in json.loads(sys.argv[2])]
print("address " + cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    print("lost", flush=True)
cluster.shutdown()
"""


@dataclass(frozen=True)
class LocalCluster:
    """A running cluster: `address` is what `ray.init` takes."""

    address: str
    process: subprocess.Popen[bytes]

    def lose_node(self) -> None:
        """Kill the node that was added last, as a crash would."""
        assert self.process.stdin
        self.process.stdin.write(b"lose\n")
        assert _read_line(self.process) == "lost"


@contextmanager
def ray_cluster(nodes: int | Sequence[Mapping[str, str]] = 2, cpus: int = 1) -> Iterator[LocalCluster]:
    """Start nodes with `cpus` CPUs each; inside the block this process and its children can connect to them.

    `nodes` says how many, or what each has in its environment.
    """
    variables = [{}] * nodes if isinstance(nodes, int) else list(nodes)
    with tempfile.TemporaryDirectory(prefix="ray") as folder, _environment(ENVIRONMENT):  # socket paths must be short
        settings = {
            "num_cpus": cpus,
            "object_store_memory": OBJECT_STORE,
            "node_ip_address": "127.0.0.1",
            "temp_dir": folder,
            "include_dashboard": False,
        }
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, json.dumps(settings), json.dumps(variables)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # or `select` misses lines that Python has read ahead
            start_new_session=True,
        )
        try:
            word, address = _read_line(process).split()
            assert word == "address"
            yield LocalCluster(address, process)
        finally:
            _stop(process)


def _read_line(process: subprocess.Popen[bytes]) -> str:
    """Read the next line that is ours; Ray prints others."""
    assert process.stdout
    while select.select([process.stdout], [], [], START_SECONDS)[0]:
        line = process.stdout.readline().decode().strip()
        assert line or process.poll() is None, "the cluster's process ended"
        if line.startswith(("address ", "lost")):
            return line
    raise TimeoutError(f"the cluster did not answer within {START_SECONDS} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the cluster to end, then kill what is left of its session: nodes give each worker a process group."""
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=STOP_SECONDS)
    for pid in [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]:
        with suppress(ProcessLookupError):
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
