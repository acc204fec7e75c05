"""vLLM replicas on a Ray cluster: one row a rollout, put together to groups again as the rollouts come back."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, find_policy
from learnable.data.progress import progress
from learnable.data.records import FinishReason, Prompt, Sampling
from learnable.rollouts.policy_tokens import PolicyTokens
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from learnable.rollouts.ray.cluster import Cluster, Footprint
from learnable.rollouts.ray.dataset import BATCH_ROWS, SLOT_ROWS, AnswerRow, Replicas, RequestRow
from learnable.rollouts.ray.stream import LostNodesError, Stream
from learnable.rollouts.vllm_engine import CPU_OPTIONS, VLLM_ENVIRONMENT

ROWS_A_REPLICA = 2048  # in flight: twice what vLLM batches on the largest GPUs, so that it never waits for us


@dataclass(slots=True)
class _Group:
    request: GroupRequest
    rows: list[AnswerRow] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Rollouts that have not come back yet."""
        return self.request.group_size - len(self.rows)


class RayEngine:
    """An `Engine` over `replicas` vLLM engines that `ray.data.llm` runs on a Ray cluster.

    The policy is loaded by the first `generate` and stays loaded until `close`; closing a generator early, a failure
    and every million rollouts or so load it anew. Every node needs this package, vLLM, and the policy under the same
    path or hub id. `address` is "auto" or "HOST:PORT" of the head node; None is what RAY_ADDRESS says, else a Ray
    started on this machine. `options` go to vLLM as they are; with `tensor_parallel_size` a replica takes so many GPUs.
    A replica that Ray cannot give its resources yet is waited for. Raises `LearnableError` when the cluster cannot be
    reached or can never hold the replicas.
    """

    def __init__(
        self, policy: Policy | str | None = None, *, address: str | None = None, replicas: int = 1, **options: Any
    ) -> None:
        if replicas < 1:
            raise LearnableError(f"`replicas` {replicas} leaves nobody to answer: give 1 or more")
        self.policy = policy if isinstance(policy, Policy) else find_policy(policy)
        if self.policy.adapter:
            raise LearnableError(
                f"policy {self.policy.name!r} is a LoRA adapter: `engine` ray loads whole models; use `engine` vllm or "
                "server, or merge it into its base"
            )
        for name, value in VLLM_ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        logging.getLogger("vllm").setLevel(os.environ["VLLM_LOGGING_LEVEL"])  # for what it logs while it is imported
        self._tokens = PolicyTokens(self.policy, options)
        self.max_context = self._tokens.max_context
        self._slots = replicas * int(options.get("max_num_seqs", 256))
        self._in_flight = 0  # rows
        self._stream: Stream | None = None
        self._cluster = Cluster(address)
        atexit.register(self.close)  # before Ray's own, which would leave the stream without Ray
        try:
            self._replicas = self._plan(replicas, options)
            self._cluster.check_room(replicas, self._replicas.footprint)
        except BaseException:
            self.close()
            raise

    @property
    def policy_id(self) -> str:
        """Folder or hub id with the hash of its weights."""
        return self.policy.policy_id

    @property
    def idle_slots(self) -> int:
        """How many more rows the replicas could work on."""
        return self._slots - self._in_flight

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """Return the tokens each prompt takes, chat template and special tokens included."""
        return [len(self._tokens.encode(prompt)) for prompt in prompts]

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield each group as it finishes. See `Engine.generate`. One generator at a time.

        Where nodes are lost for good, those that are left go on, and make what was on its way (docs/decisions/054).
        Raises `EngineError` when Ray or vLLM fails, and `LearnableError` when vLLM cannot load the policy or the
        replicas no longer fit.
        """
        queue = enumerate(requests)
        groups: dict[int, _Group] = {}
        self._in_flight = 0
        try:
            while True:
                is_idle = not groups
                self._send(self._take(queue, groups, sampling), is_idle)
                if not groups or self._stream is None:
                    return
                for row in self._read(self._stream, groups, sampling):
                    group = groups[row.group]
                    group.rows.append(row)
                    self._in_flight -= 1
                    if not group.missing:
                        yield self._answer(groups.pop(row.group), sampling)
        finally:
            if groups:
                self._stop()

    def close(self) -> None:
        """Stop the replicas, leave the cluster, and stop Ray if it was started here."""
        atexit.unregister(self.close)
        self._stop()
        self._cluster.close()

    def _plan(self, replicas: int, options: Mapping[str, Any]) -> Replicas:
        has_gpu = self._cluster.has_gpu
        ranks = int(options.get("tensor_parallel_size", 1)) * int(options.get("pipeline_parallel_size", 1))
        bundle = {"CPU": 1.0} | ({"GPU": 1.0} if has_gpu else {})  # what Ray Data gives a rank
        return Replicas(
            count=replicas,
            model=self.policy.path,
            options={**({} if has_gpu else CPU_OPTIONS), **options, "max_model_len": self.max_context},
            environment={name: os.environ[name] for name in VLLM_ENVIRONMENT},
            footprint=Footprint(bundle, ranks),
            has_gpu=has_gpu,
        )

    def _take(
        self, queue: Iterator[tuple[int, GroupRequest]], groups: dict[int, _Group], sampling: Sampling
    ) -> list[RequestRow]:
        """Take requests while the replicas have room; a stream that is nearly spent is emptied first."""
        rows: list[RequestRow] = []
        if groups and self._is_spent():
            return rows
        room = ROWS_A_REPLICA * self._replicas.count - sum(group.missing for group in groups.values())
        while len(rows) < room and (numbered := next(queue, None)) is not None:
            number, request = numbered
            groups[number] = _Group(request)
            self._in_flight += request.group_size
            rows.extend(self._make_rows(number, groups[number], sampling))
        return rows

    def _make_rows(self, number: int, group: _Group, sampling: Sampling) -> list[RequestRow]:
        """Return what is to be sent for a group: what of it has not come back yet."""
        request, there = group.request, {row.child for row in group.rows}
        tokens = self._tokens.encode(request.prompt, sampling.template_args)
        return [
            RequestRow(number, child, tokens, sampling, request.base_seed + child)
            for child in range(request.group_size)
            if child not in there
        ]

    def _read(self, stream: Stream, groups: Mapping[int, _Group], sampling: Sampling) -> list[AnswerRow]:
        """Wait for answered rows, by the replicas that have room left where nodes are lost."""
        try:
            return stream.read()
        except LostNodesError as error:
            lost = error
            if not (left := min(self._cluster.count(self._replicas.footprint), self._replicas.count)):
                raise
        self._stop()
        progress().warn(f"{lost}; the run goes on with {left}")
        self._slots = self._slots // self._replicas.count * left
        self._replicas = replace(self._replicas, count=left)
        self._send([row for number in groups for row in self._make_rows(number, groups[number], sampling)], True)
        return []

    def _send(self, rows: Sequence[RequestRow], is_idle: bool) -> None:
        """Send rows in blocks; where nothing is in flight, every replica gets a share."""
        if not rows:
            return
        if self._stream is None or self._is_spent():
            self._stop()
            self._cluster.check_room(self._replicas.count, self._replicas.footprint)
            self._stream = Stream(self._replicas, self._cluster)
        shares = min(self._replicas.count, ceil(len(rows) / BATCH_ROWS)) if is_idle else 1
        size = min(SLOT_ROWS, ceil(len(rows) / shares))
        for start in range(0, len(rows), size):
            self._stream.send(rows[start : start + size])

    def _is_spent(self) -> bool:
        max_rows = ROWS_A_REPLICA * self._replicas.count + 2**16  # and a group: seeds have no room for a larger one
        return self._stream is not None and self._stream.free_slots < max_rows // SLOT_ROWS + self._replicas.count

    def _stop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _answer(self, group: _Group, sampling: Sampling) -> Answer:
        request, rows = group.request, sorted(group.rows, key=lambda row: row.child)
        if failure := next((row.failure for row in rows if row.failure), None):
            return Refusal(request, f"vLLM: {failure.splitlines()[0]}")
        ends = [self._find_finish(row, sampling) for row in rows]
        if None in ends:
            return Refusal(request, "vLLM ended a completion with neither a stop token nor a full length")
        rollouts = [
            request.rollout(
                row.child,
                row.text,
                end,
                row.num_tokens,
                policy_id=self.policy_id,
                sampling=sampling,
                token_ids=row.token_ids,
            )
            for row, end in zip(rows, ends, strict=True)
            if end
        ]
        return self._tokens.tell_apart(rollouts, request.prompt, sampling)

    def _find_finish(self, row: AnswerRow, sampling: Sampling) -> FinishReason | None:
        """Find out how a completion ended, since Ray Data does not say: vLLM looks at the last token before lengths."""
        if row.last_token in self._tokens.stops or (sampling.stop and row.text.endswith(sampling.stop)):
            return "stop"
        is_full = row.num_tokens >= sampling.max_tokens or (row.prompt_tokens + row.num_tokens >= self.max_context)
        return "length" if is_full else None
