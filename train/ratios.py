"""Importance ratios of the completions that a step is taken on: what TRL computes for its loss and does not log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from trl import GRPOTrainer

# Told of each pass in training: the logarithms of its ratios, (completions, tokens), padded, and TRL's inputs of it.
OnRatios = Callable[["Tensor", Any], None]


def watch_ratios(trainer: GRPOTrainer, note: OnRatios) -> None:
    """Call `note` in each pass over completions that are trained on, before its loss is used.

    A ratio says how much likelier the policy makes a sampled token than the policy that TRL compares it with: that of
    `old_per_token_logps`, or where there are none the policy itself.
    """
    own: Any = trainer
    compute, measure = own._compute_loss, own._get_per_token_logps_and_entropies
    results: list[Any] = []

    def keep(*arguments: Any, **options: Any) -> Any:
        result = measure(*arguments, **options)
        results.append(result[0].detach())
        return result

    def compute_loss(model: Any, inputs: Any) -> Any:
        results.clear()
        loss = compute(model, inputs)
        if results and own.model.training:
            old = inputs.get("old_per_token_logps")
            note(results[0] - (results[0] if old is None else old), inputs)
        return loss

    own._get_per_token_logps_and_entropies, own._compute_loss = keep, compute_loss


def log_importance_ratios(trainer: GRPOTrainer) -> None:
    """Log how much likelier the policy makes each sampled token than the policy that sampled it: mean and extremes.

    TRL logs what it clips of these ratios and not the ratios; its `sampling/importance_sampling_ratio` compares vLLM's
    numbers with the trainer's. A step with one pass over its completions has ratios of 1.
    """
    own: Any = trainer

    def log(log_ratios: Any, inputs: Mapping[str, Any]) -> None:
        kept = log_ratios.exp()[inputs["completion_mask"].bool()]
        means, lowest, highest = (own.accelerator.gather(end.reshape(1)) for end in _summarise(kept))
        ends = {"mean": means.mean(), "min": lowest.min(), "max": highest.max()}
        for name, value in ends.items():
            own._metrics["train"][f"importance_ratio/{name}"].append(value.item())

    watch_ratios(trainer, log)


def _summarise(ratios: Any) -> tuple[Any, Any, Any]:
    """Return mean, least and largest; 1 where there is none, as of a batch of empty completions."""
    if not ratios.numel():
        one = ratios.new_ones(())
        return one, one, one
    return ratios.mean(), ratios.min(), ratios.max()
