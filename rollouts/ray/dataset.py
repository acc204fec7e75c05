"""The Ray Data dataset behind a stream: blocks that wait until they are sent, vLLM, and what is kept of answers."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa

from learnable.data.records import Sampling
from learnable.rollouts.ray.cluster import Footprint
from learnable.rollouts.vllm_engine import name_for_vllm

SLOTS = 8192  # a million rollouts between two loads of the policy
SLOT_ROWS = 128
BATCH_ROWS = 8  # a call of vLLM's stage: Ray Data holds back what is smaller
FAILED = "__inference_error__"  # Ray's column: vLLM skips a row that comes with a reason
PADDING = "padding"  # the reason of a row that only fills a block


@dataclass(frozen=True, slots=True)
class Replicas:
    """How many engines, what each loads and how, and what each takes of the cluster."""

    count: int
    model: str
    options: Mapping[str, object]
    environment: Mapping[str, str]
    footprint: Footprint
    has_gpu: bool


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One completion to make: the `child`-th of a group, from the tokens of its prompt."""

    group: int
    child: int
    tokens: list[int]
    sampling: Sampling
    seed: int


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One completion. `last_token` is None for an empty one; `failure` says why there is none, or is empty."""

    group: int
    child: int
    text: str
    num_tokens: int
    prompt_tokens: int
    last_token: int | None
    token_ids: list[int] = field(default_factory=list)
    failure: str = ""


class Inbox:
    """Keeps each block from `put` to `drop`: an actor on the cluster, since nodes cannot reach the driver."""

    def __init__(self) -> None:
        self._blocks: dict[int, asyncio.Future[pa.Table]] = {}

    async def put(self, slot: int, rows: pa.Table) -> None:
        """Give the block to every reader that waits for it."""
        self._block(slot).set_result(rows)

    async def take(self, slot: int) -> pa.Table:
        """Wait for a block; it can be taken again."""
        return await asyncio.shield(self._block(slot))

    async def drop(self, slot: int) -> None:
        """Forget a block that is answered."""
        self._blocks.pop(slot, None)

    def _block(self, slot: int) -> asyncio.Future[pa.Table]:
        return self._blocks.setdefault(slot, asyncio.get_running_loop().create_future())


def make_block(slot: int, rows: Sequence[RequestRow]) -> pa.Table:
    """Return rows as Ray Data reads them, with padding up to what vLLM's stage takes at once."""
    filled = [
        {
            "slot": slot,
            FAILED: "",
            "group": row.group,
            "child": row.child,
            "tokenized_prompt": row.tokens,
            "sampling_params": name_for_vllm(row.sampling) | {"seed": row.seed},
        }
        for row in rows
    ]
    return pa.Table.from_pylist(filled + [{**filled[0], FAILED: PADDING}] * (BATCH_ROWS - len(rows)))


def open_blocks(replicas: Replicas, inbox: Any, names: list[str]) -> Iterator[pa.Table]:
    """Return the answered blocks. The replicas start when the first one is read; `names` gets those of their actors."""
    import ray
    from ray.data import DataContext, TaskPoolStrategy

    DataContext.get_current().enable_progress_bars = False
    # The replicas may take every CPU, so no other step requests one. Steps with the same readers become one.
    free: dict[str, Any] = {"num_cpus": 0}
    reading = {**free, "compute": TaskPoolStrategy(2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # vLLM's and Ray's own, while they are imported
        from ray.data.llm import build_processor

        processor = build_processor(
            _configure(replicas), postprocess=_keep_answer, preprocess_map_kwargs=reading, postprocess_map_kwargs=free
        )
        _name_actors(processor.get_stage_by_name("vLLMEngineStage"), names)
        source = ray.data.read_datasource(_source(inbox), override_num_blocks=SLOTS, **reading)
        answers = processor(source)
    tables = answers.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    return iter(cast("Iterable[pa.Table]", tables))  # as `batch_format` says


def _name_actors(stage: Any, names: list[str]) -> None:
    """Let each actor of a stage have a name, by which it can be ended: Ray Data only lets go of them.

    Where calls still wait for one whose node is lost, Ray starts it again elsewhere, in the place of a new one.
    """
    from ray.data import Dataset

    arguments = stage.map_batches_kwargs
    if "ray_remote_args_fn" not in signature(Dataset.map_batches).parameters:  # to be removed in Ray 2.64
        return
    place = arguments.get("ray_remote_args_fn", dict)  # where a replica has several GPUs

    def name() -> dict[str, Any]:
        names.append(f"replica-{uuid4().hex}")
        return {**place(), "name": names[-1]}

    arguments["ray_remote_args_fn"] = name


def _configure(replicas: Replicas) -> Any:
    from ray.data.llm import vLLMEngineProcessorConfig

    return vLLMEngineProcessorConfig(
        model_source=replicas.model,
        engine_kwargs={"disable_log_stats": True, **replicas.options},
        runtime_env={"env_vars": dict(replicas.environment)},
        # A lone number would let Ray Data start with one replica and add others when it likes.
        concurrency=(replicas.count, replicas.count),
        batch_size=BATCH_ROWS,
        max_concurrent_batches=SLOT_ROWS // BATCH_ROWS,  # calls at once in a block, and blocks at once in a replica
        should_continue_on_error=True,
        placement_group_config=None if replicas.has_gpu else {"bundle_per_worker": dict(replicas.footprint.bundle)},
        log_engine_metrics=False,
        chat_template_stage=False,
        tokenize_stage=False,
        detokenize_stage=False,
    )


def _source(inbox: Any) -> Any:
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class Slots(Datasource):
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]

        def estimate_inmemory_data_size(self) -> None:
            return None

        def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[Any]:
            unknown = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
            return [ReadTask(partial(_take, inbox, slot), unknown) for slot in range(parallelism)]

    return Slots()


def _take(inbox: Any, slot: int) -> list[pa.Table]:
    import ray

    return [ray.get(inbox.take.remote(slot))]


def _keep_answer(row: dict[str, Any]) -> dict[str, Any]:
    """Keep what the driver needs of an answered row: prompts stay where they are."""
    tokens = [int(token) for token in row["generated_tokens"]]
    return {
        **{name: row[name] for name in ("slot", "group", "child")},
        "text": row["generated_text"],
        "num_tokens": len(tokens),
        "prompt_tokens": row["num_input_tokens"],
        "last_token": tokens[-1] if tokens else None,
        "token_ids": tokens,
    }
