"""What a run will do: from settings and a set to settings with nothing left open, and to what a trainer opens."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.curated.curated_set import CuratedSet, download_curated, open_curated
from learnable.data.policies import Policy, find_policy
from learnable.train.monitor.rules import AlarmRule, read_rules
from learnable.train.preflight.batch import fit_batch
from learnable.train.preflight.drawing import choose_drawing
from learnable.train.preflight.output import begin_or_resume, check_output
from learnable.train.preflight.pairs import read_pairs
from learnable.train.preflight.shards import count_rows
from learnable.train.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What a trainer needs: settings with nothing left open, the set, the policy, and the rules that watch it."""

    settings: TrainSettings
    curated: CuratedSet
    policy: Policy
    rules: tuple[AlarmRule, ...] = ()

    @property
    def trains_adapter(self) -> bool:
        """Whether a LoRA adapter is trained, a new one or the policy's own, and not every weight."""
        return bool(self.settings.lora_rank or self.policy.adapter)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Settings with nothing left open but a learning rate, and why prompts are drawn and steps filled as they are."""

    settings: TrainSettings
    drawing: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()


def resolve_settings(settings: TrainSettings, curated: CuratedSet) -> Resolution:
    """Choose what `settings` leave open: the part and the sampler, what the set's manifest says, the batch.

    A run that began has chosen: of its settings this is the identity, and no shard is opened. Raises `LearnableError`
    for a shard that cannot be read.
    """
    drawn, drawing = choose_drawing(settings, curated)
    filled = drawn.filled_from(curated.manifest)
    if filled.batch_size is not None:
        return Resolution(filled, tuple(drawing))
    fitted, batch = fit_batch(filled, curated, count_trained(filled, curated))
    return Resolution(fitted, tuple(drawing), tuple(batch))


def count_trained(settings: TrainSettings, curated: CuratedSet) -> int:
    """Count the prompts that are trained on, or the pairs. Raises `LearnableError` for a shard that cannot be read."""
    if settings.method == "dpo" and curated.shards(settings.rows_part):
        return int(read_pairs(curated, settings).num_rows)
    return count_rows(curated, settings.rows_part, settings.families)


def open_run(settings: TrainSettings) -> TrainingRun:
    """Open what a trainer needs of a run that `prepare_run` has checked, in another process than that.

    Raises `LearnableError` for a set or a policy that is gone, and for a folder that holds another run.
    """
    begun = begin_or_resume(settings)
    curated = download_curated(open_curated(begun.curated))
    resolved = resolve_settings(begun, curated).settings
    check_output(resolved)
    return TrainingRun(resolved, curated, find_policy(resolved.policy), read_rules(resolved.monitor))
