"""The training loop: one pass over the packed corpus, shared by single-threaded ranks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from learnable.train.policy.model import (
    EMBEDDING_SHARE,
    LEARNING_RATE,
    compute_loss,
    load_model,
    make_model,
    make_optimizers,
    schedule_rate,
)
from learnable.train.policy.packing import Rows


def train_ranks(folder: Path, seed: int, ranks: int = 2, *, again: bool = False) -> None:
    """Train on `folder/rows.npz` and leave the weights in `folder/weights`; `again` goes on from those there."""
    from torch.multiprocessing.spawn import spawn

    start: Any = spawn
    start(_train_rank, args=(folder, seed, ranks, again), nprocs=ranks)


def _train_rank(rank: int, folder: Path, seed: int, ranks: int, again: bool) -> None:
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    store = f"file://{folder.resolve()}/rendezvous"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=ranks)
    rows = Rows.load(folder / "rows.npz")
    model = load_model(folder / "weights") if again else make_model(seed)
    run_steps(model, rows, rank, ranks, folder, peak=0.5 if again else 1.0)  # of the learning rates
    if rank == 0:
        save_weights(model, folder / "weights")
    distributed.destroy_process_group()


def run_steps(model: Any, rows: Rows, rank: int, ranks: int, folder: Path, *, peak: float = 1.0) -> None:
    """Take every step of one pass at `peak` times the usual rates; each rank works on its share of a step's rows."""
    from torch.nn.utils import clip_grad_norm_

    optimizers = make_optimizers(model)
    rates = (peak * LEARNING_RATE, peak * LEARNING_RATE * EMBEDDING_SHARE)
    rows_per_step = 16
    steps = len(rows.ids) // rows_per_step
    started, smooth = time.monotonic(), 0.0
    for step in range(steps):
        for optimizer, rate in zip(optimizers, rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate * schedule_rate(step, steps)
        loss = compute_loss(model, rows, np.arange(step * rows_per_step + rank, (step + 1) * rows_per_step, ranks))
        loss.backward()
        mean = average_gradients(model, loss, ranks)
        clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        smooth = mean if step == 0 else 0.97 * smooth + 0.03 * mean
        if rank == 0 and (step + 1) % 50 == 0:
            print(f"step {step + 1}/{steps} loss {smooth:.3f} {time.monotonic() - started:.0f} s", flush=True)
        if rank == 0 and (step + 1) % 400 == 0:
            save_weights(model, folder / "weights")


def average_gradients(model: Any, loss: Any, ranks: int) -> float:
    """Average gradients and loss over the ranks in one message; return the mean loss."""
    import torch
    from torch import distributed

    gradients = [parameter.grad for parameter in model.parameters()]
    if ranks == 1:
        return float(loss.detach())
    flat = torch.cat([*(gradient.reshape(-1) for gradient in gradients), loss.detach().reshape(1)])
    distributed.all_reduce(flat)
    flat /= ranks
    pieces = torch.split(flat[:-1], [gradient.numel() for gradient in gradients])
    for gradient, piece in zip(gradients, pieces, strict=True):
        gradient.copy_(piece.view_as(gradient))
    return float(flat[-1])


def save_weights(model: Any, folder: Path) -> None:
    """Save a bfloat16 copy that loads like any other model."""
    import copy

    import torch

    shrunk = copy.deepcopy(model).to(torch.bfloat16)
    shrunk.config.dtype = torch.bfloat16
    shrunk.save_pretrained(folder)
