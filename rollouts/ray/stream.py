"""One endless Ray Data dataset through vLLM: rows are sent as they come up, and the replicas live on in between.

Ray Data loads a policy at the start of every execution. Over and over that costs minutes, so there is one execution:
its source has `SLOTS` blocks, and the task that reads block i waits until the driver sends it. A block that Ray reads
again, because a node died, is the same block again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from learnable.data.errors import LearnableError
from learnable.rollouts.protocol import EngineError
from learnable.rollouts.ray.cluster import Cluster
from learnable.rollouts.ray.dataset import (
    FAILED,
    PADDING,
    SLOTS,
    AnswerRow,
    Inbox,
    Replicas,
    RequestRow,
    make_block,
    open_blocks,
)

PATROL_SECONDS = 20.0
MISSED_PATROLS = 9  # a node has three minutes to come back


class LostNodesError(EngineError):
    """Nodes are gone for good, and with them room for replicas."""


class Stream:
    """Rows in, rows out, in any order. The replicas start with the first row that is read."""

    def __init__(self, replicas: Replicas, cluster: Cluster) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray, self._cluster, self._replicas = ray, cluster, replicas
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)  # lives as we do
        self._inbox: Any = ray.remote(Inbox).options(num_cpus=0, scheduling_strategy=here).remote()
        self._next_slot = 0
        self._missing: Counter[int] = Counter()
        self._actors: list[str] = []  # names
        self._blocks = open_blocks(replicas, self._inbox, self._actors)
        self._ended = Event()
        Thread(target=self._patrol, name="ray-patrol", daemon=True).start()

    @property
    def free_slots(self) -> int:
        """How many more calls of `send` the dataset has room for."""
        return SLOTS - self._next_slot

    def send(self, rows: Sequence[RequestRow]) -> None:
        """Give rows to the replicas, at most `SLOT_ROWS` at once."""
        slot, self._next_slot = self._next_slot, self._next_slot + 1
        block = make_block(slot, rows)
        self._missing[slot] = block.num_rows
        self._inbox.put.remote(slot, block)

    def read(self) -> list[AnswerRow]:
        """Wait for the next answered rows.

        Raises `LearnableError` when vLLM cannot load, `LostNodesError` when replicas have lost their room for good, and
        else `EngineError`. Rows that were sent and not read are lost then.
        """
        try:
            rows: list[dict[str, Any]] = next(self._blocks).to_pylist()
        except Exception as error:  # Ray Data raises what its tasks raised, whatever it is
            raise self._explain(error) from error
        for slot, count in Counter(row["slot"] for row in rows).items():
            self._missing[slot] -= count
            if not self._missing[slot]:
                del self._missing[slot]
                self._inbox.drop.remote(slot)
        return [_read_row(row) for row in rows if row[FAILED] != PADDING]

    def close(self) -> None:
        """Stop the replicas, whatever they are doing."""
        self._ended.set()
        with suppress(Exception):  # Ray may be gone already
            self._blocks.close()  # type: ignore[attr-defined]
        with suppress(Exception):
            self._ray.kill(self._inbox)
        for name in self._actors:
            with suppress(Exception):  # most have ended
                self._ray.kill(self._ray.get_actor(name))

    def _patrol(self) -> None:
        """End the dataset when nodes are lost for good: Ray would wait for them for ever."""
        missed = 0
        while missed < MISSED_PATROLS:
            if self._ended.wait(PATROL_SECONDS):
                return
            missed = missed + 1 if self._lost_nodes() else 0
        with suppress(Exception):
            self._ray.kill(self._inbox)  # its readers fail, and with them the dataset

    def _lost_nodes(self) -> str:
        """Say how many replicas still have room where not all do."""
        with suppress(Exception):  # the cluster is out of reach for a moment, or Ray is shutting down
            if (fit := self._cluster.count(self._replicas.footprint)) < self._replicas.count:
                return f"Ray lost nodes: {fit} of {self._replicas.count} replicas have room left"
        return ""

    def _explain(self, error: Exception) -> Exception:
        if isinstance(error, StopIteration):
            return EngineError("Ray Data ended before every rollout was answered")
        reason = find_last_error(str(error)) or type(error).__name__
        if "creation task" in str(error):
            return LearnableError(
                f"vLLM cannot load policy {self._replicas.model!r} on the Ray cluster: {reason} "
                "(the replica's log is in /tmp/ray/session_latest/logs on its node)"
            )
        return LostNodesError(lost) if (lost := self._lost_nodes()) else EngineError(f"Ray failed: {reason}")


def find_last_error(trace: str) -> str:
    r"""Return the last exception that a trace of Ray's names, with its message on one line.

    >>> find_last_error("ActorDiedError: it died\n  File x\nValueError: too long\n  by 3 tokens")
    'ValueError: too long by 3 tokens'
    """
    lines = trace.strip().splitlines()
    named = [i for i, line in enumerate(lines) if line[:1].isalpha() and "Error: " in line.split("(")[0]]
    return " ".join(line.strip() for line in lines[named[-1] if named else 0 :])[:400]


def _read_row(row: Mapping[str, Any]) -> AnswerRow:
    """Read a row of the dataset. One that failed has a reason, and may lack the columns of a completion."""
    return AnswerRow(
        group=row["group"],
        child=row["child"],
        text=row.get("text") or "",
        num_tokens=row.get("num_tokens") or 0,
        prompt_tokens=row.get("prompt_tokens") or 0,
        last_token=row.get("last_token"),
        token_ids=row.get("token_ids") or [],
        failure=row[FAILED],
    )
