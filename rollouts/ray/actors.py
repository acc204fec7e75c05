"""Actors that score on the nodes of a Ray cluster: which node gets one, and which gets none."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.rollouts.ray.cluster import Cluster, Node
from learnable.rollouts.ray.stream import find_last_error

LOSSES = 3  # of a node that lives, before its actors have done anything


class Actors:
    """Makes actors of a class, at most `each` for a node at first, and no more than it has CPUs.

    They take no CPU from Ray's books, so that replicas never wait for them. `make` has the arguments of the class.
    Where a node is lost, the others take its actors over. Threads may share it.
    """

    def __init__(self, cluster: Cluster, make: Callable[..., object], arguments: tuple[Any, ...], each: int) -> None:
        import ray

        self._ray, self._cluster, self._each = ray, cluster, each
        self._class: Any = ray.remote(make)
        self._arguments = [ray.put(argument) for argument in arguments]  # a node fetches them once
        self._placed: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()
        self._left_out: dict[str, str] = {}  # by the node's name, why
        self._context = copy_context()
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """How many actors the nodes have room for. Raises `LearnableError` where no node has a CPU."""
        if count := sum(map(self._room, self._cluster.nodes())):
            return count
        raise LearnableError("no node of the Ray cluster has a CPU: add some with `ray start --address=HEAD:PORT`")

    def open(self) -> Actor | None:
        """Return a new actor on the node that has fewest for its room, None where no node lives.

        Raises `LearnableError` where all nodes are left out.
        """
        with self._lock:
            alive = {_name(node): node for node in self._cluster.nodes() if self._room(node)}
            able = {name: node for name, node in alive.items() if name not in self._left_out}
            if not able and alive:
                reasons = "; ".join(f"node {name}: {why}" for name, why in self._left_out.items())
                raise LearnableError(f"no node of the Ray cluster can score: {reasons}")
            if not able:
                return None
            name = min(able, key=lambda name: (self._placed[name] / self._room(able[name]), name))
            self._placed[name] += 1
        return Actor(self._start(able[name]["NodeID"]), name, self._forget)

    def leave_out(self, node: str, why: str) -> None:
        """Use a node no more, and say so once."""
        with self._lock:
            if node in self._left_out:
                return
            self._left_out[node] = why
            self._context.run(_warn, f"node {node} scores nothing: {why}")

    def note_lost(self, node: str, why: str) -> None:
        """Take note of an actor that was lost before it did anything: a node that loses each one is left out."""
        with self._lock:
            self._losses[node] += 1
            is_useless = self._losses[node] >= LOSSES
        if is_useless:
            self.leave_out(node, why)

    def _room(self, node: Node) -> int:
        return min(self._each, int(node["Resources"].get("CPU", 0))) if node["Alive"] else 0

    def _start(self, node_id: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node_id, soft=False)
        return self._class.options(num_cpus=0, scheduling_strategy=there).remote(*self._arguments)

    def _forget(self, node: str) -> None:
        with self._lock:
            self._placed[node] -= 1


class Actor:
    """An actor on a node, which messages call `node`."""

    def __init__(self, handle: Any, node: str, on_end: Callable[[str], None]) -> None:
        self._handle, self.node, self._on_end = handle, node, on_end
        self._ended = False

    def call(self, method: str, *arguments: Any) -> Any:
        """Return what a method returns. Raises `ConnectionError` where the actor is lost, or what the method raises."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            return ray.get(getattr(self._handle, method).remote(*arguments))
        except RayTaskError:
            raise
        except RayError as error:  # there are a dozen kinds, for an actor, its node and what it returned
            raise ConnectionError(find_last_error(str(error))) from error

    def end(self) -> None:
        """End the actor at once."""
        import ray

        if not self._ended:
            self._ended = True
            self._on_end(self.node)
            with suppress(Exception):  # Ray may be gone already
                ray.kill(self._handle)


def _warn(text: str) -> None:
    progress().warn(text)


def _name(node: Node) -> str:
    return f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
