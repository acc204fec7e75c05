"""Log-probabilities by the policy as training began: TRL's reference where it keeps one, else measured at the start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from learnable.train.stored.plan import FILE, START_LOGPROBS, StoredBatch, write_batches

if TYPE_CHECKING:
    from torch import Tensor


def has_start(trainer: Any) -> bool:
    """Whether TRL computes the log-probabilities of the start itself: for its KL term, with a reference that stays."""
    is_kept: bool = trainer.beta != 0 and not trainer.args.sync_ref_model
    return is_kept


def pad_start(completions: pl.DataFrame, output: Any) -> Tensor:
    """Return the measured log-probabilities of completions, (completions, tokens), 0 where padded."""
    mask = output["completion_mask"]
    old: Tensor = mask.new_zeros(mask.shape, dtype=output["advantages"].dtype)
    for number, logs in enumerate(completions[START_LOGPROBS].to_list()):
        old[number, : len(logs)] = old.new_tensor(logs)
    return old


def measure_start(trainer: Any, batches: Sequence[StoredBatch], folder: Path) -> None:
    """Measure all planned completions with the policy as it is now, and keep that with them.

    Each process measures its share of the groups: as many as the others, the first ones twice where need be.
    """
    from accelerate.utils import gather_object  # type: ignore[import-untyped]

    groups = [(number, row) for number, batch in enumerate(batches) for row in batch.rows]
    processes, rank = trainer.accelerator.num_processes, trainer.accelerator.process_index
    own = [groups[at % len(groups)] for at in range(rank, -(-len(groups) // processes) * processes, processes)]
    places, measured = range(trainer.num_generations), []
    for number, row in own:
        tokens = batches[number].take([(row, place) for place in places])["token_ids"].to_list()
        measured.append(((number, row), _measure_group(trainer, row, tokens)))
    logs = dict(gather_object(measured))
    if trainer.is_world_process_zero():
        table = pl.read_parquet(folder / FILE)
        log_probabilities = [one for group in groups for one in logs[group]]
        write_batches(table.with_columns(pl.Series(START_LOGPROBS, log_probabilities, pl.List(pl.Float32))), folder)
    trainer.accelerator.wait_for_everyone()


def _measure_group(trainer: Any, row: int, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return the log-probability of each token of a prompt's completions."""
    import torch

    (prompt,), _, _ = trainer._tokenize_prompts([trainer.train_dataset[row]["prompt"]])
    device, width = trainer.accelerator.device, max(map(len, tokens))
    pad = trainer.processing_class.pad_token_id
    ids = torch.tensor([[*prompt, *one, *[pad] * (width - len(one))] for one in tokens], device=device)
    lengths = torch.tensor([len(prompt) + len(one) for one in tokens], device=device)
    mask = (torch.arange(ids.shape[1], device=device) < lengths[:, None]).long()
    was_training = trainer.model.training
    trainer.model.eval()
    with torch.no_grad():
        logs, _, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model, ids, mask, width, batch_size=trainer.args.per_device_train_batch_size
        )
    trainer.model.train(was_training)
    return [one[: len(ids)].tolist() for one, ids in zip(logs, tokens, strict=True)]
