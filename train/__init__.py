"""Training: rewards, GRPO and evaluation on curated sets, and the bundled policy's own training.

`LearnabilitySampler`, `StoredRollouts` and `load_prompts` are for scripts that use TRL directly.
"""

from typing import Any

__all__ = ["LearnabilitySampler", "StoredRollouts", "load_prompts"]


def __getattr__(name: str) -> Any:
    """Load what is named when it is first asked for: importing this package loads no heavy library."""
    if name == "LearnabilitySampler":
        from learnable.train.live.hooks import LearnabilitySampler

        return LearnabilitySampler
    if name == "StoredRollouts":
        from learnable.train.stored.hooks import StoredRollouts

        return StoredRollouts
    if name == "load_prompts":
        from learnable.train.trainers.prompts import load_prompts

        return load_prompts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
