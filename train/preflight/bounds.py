"""Can training work with these settings, whatever the data?"""

from __future__ import annotations

from math import isfinite

from learnable.data.errors import LearnableError
from learnable.data.settings import check_settings
from learnable.train.preflight.pairs import check_preferences
from learnable.train.settings import TrainSettings


def check_numbers(settings: TrainSettings) -> None:
    """Raise `LearnableError` for settings that training cannot work with, whatever the data."""
    check_settings(settings)
    if settings.method == "grpo":
        check_groups(settings)
        check_kl(settings)
        check_rewards(settings)
    elif settings.named_part != "train":
        raise LearnableError(
            f"`method` {settings.method} trains on the {settings.rows_part} of train, and {settings.part} has none: "
            "leave out `part`, or give `method` grpo"
        )
    check_preferences(settings)
    chooses = "`sampler` live" if settings.sampler == "live" else "`curriculum`" if settings.curriculum else ""
    if chooses and settings.method != "grpo":
        raise LearnableError(f"{chooses} chooses among groups, and `method` {settings.method} has none: leave it out")
    check_stored(settings)
    check_passes(settings)
    check_reach(settings)
    if settings.evaluate and settings.eval_k > settings.eval_group_size:
        raise LearnableError(
            f"`eval_k` {settings.eval_k} needs as many completions a prompt, but `eval_group_size` is "
            f"{settings.eval_group_size}: raise that, or lower `eval_k`"
        )


def check_stored(settings: TrainSettings) -> None:
    """Raise `LearnableError` where a run cannot begin with stored groups, whatever the store has."""
    if settings.stored == "off":
        return
    if settings.method != "grpo":
        raise LearnableError(
            f"`stored` first is for groups, and `method` {settings.method} trains on stored completions by itself: "
            "leave it out"
        )
    if settings.curriculum:
        raise LearnableError("`stored` first draws prompts of all stages: leave it out, or `curriculum`")


def check_reach(settings: TrainSettings) -> None:
    """Raise `LearnableError` for a share that held-out completions cannot have, or that nothing would measure."""
    if wrong := [share for share in settings.reach if not 0 < share <= 1]:
        raise LearnableError(f"`reach` {wrong[0]:g} is no share of held-out completions: give one as 0.7")
    if settings.reach and not settings.eval_steps:
        raise LearnableError(
            "`reach` needs looks at held-out prompts during training: give `eval_steps` too, such as 5"
        )


def check_rewards(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless TRL is given rewards of which more is better."""
    if settings.reward_range is not None:
        low, high = settings.reward_range
        if not (isfinite(low) and isfinite(high) and low < high):
            raise LearnableError(
                f"`reward_range` {low:g} {high:g} is no range: give the rewards of the worst and of the best "
                "completion, as -1 1"
            )


def check_passes(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless a step is whole passes over all processes."""
    batch = settings.batch_size
    if batch is None:
        return
    passes = (settings.micro_batch_size or batch // settings.num_processes) * settings.num_processes
    if batch % passes:
        raise LearnableError(
            f"`batch_size` {batch} does not divide by {passes}, the completions in one pass over "
            f"{settings.num_processes} processes: choose another `micro_batch_size`"
        )


def check_groups(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless a step holds whole groups that can have an advantage."""
    generations, batch = settings.num_generations, settings.batch_size
    if generations < 2:
        raise LearnableError(
            f"`num_generations` {generations} leaves no advantage: it compares completions of one prompt, so give 2 "
            "or more, 16 is usual"
        )
    if batch is not None and batch % generations:
        lower, upper = batch // generations * generations, -(-batch // generations) * generations
        offer = f"{lower} or {upper}" if lower else str(upper)
        raise LearnableError(
            f"`batch_size` {batch} does not divide by `num_generations` {generations}: a step holds whole groups, "
            f"so give {offer}"
        )


def check_kl(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless the KL term is on or was switched off knowingly."""
    if not settings.no_kl and not settings.kl_weight > 0:
        raise LearnableError(
            f"`beta` {settings.kl_weight:g} switches the KL term off. Without it nothing holds the policy near where "
            "it started: rewards rise, then every completion becomes the same text, groups lose their spread, and "
            "training cannot recover. Give `beta` 0.04, or say `no_kl` if that is what you want"
        )
