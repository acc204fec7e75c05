"""Is this training run going to work? Checked, and answered in plain words, before anything heavy starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from learnable.data.curated.curated_set import CuratedSet, download_curated, open_curated
from learnable.data.curated.manifest import SILENT
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, find_policy
from learnable.data.records import weights_id
from learnable.data.storage.weights import hash_folder, is_sampled
from learnable.rollouts.vllm_engine import check_options
from learnable.train.monitor.forecast import explain_other_signal
from learnable.train.monitor.rules import Rule, read_rules
from learnable.train.preflight.batch import fit_batch
from learnable.train.preflight.device import Device, find_device
from learnable.train.preflight.drawing import choose_drawing, explain_curriculum, explain_forgetting
from learnable.train.preflight.memory import (
    MemoryEstimate,
    check_memory,
    estimate_memory,
    read_rank,
    read_shape,
)
from learnable.train.preflight.output import begin_or_resume, check_output
from learnable.train.preflight.pairs import check_preferences, explain_pairs, measure_longest_stored, read_pairs
from learnable.train.preflight.shards import (
    check_families,
    check_lengths,
    check_rows,
    check_verifiers,
    count_rows,
    has_chats,
    measure_longest_prompt,
    read_prompt_texts,
)
from learnable.train.preflight.stored import explain_stored
from learnable.train.preflight.weak_settings import (
    warn_of_collapse,
    warn_of_epochs,
    warn_of_few_held_out,
    warn_of_groups,
    warn_of_learning_rate,
    warn_of_repeats,
    warn_of_short_completions,
    warn_of_temperature,
)
from learnable.train.settings import (
    CURRICULUM_BY,
    HELD_OUT,
    LOSS_TYPES,
    METHODS,
    ON_ALARM,
    ON_DRY,
    PARTS,
    PREDICT,
    SAMPLERS,
    SCALES,
    SIGNALS,
    STORED,
    TrainSettings,
)
from learnable.train.trl_options import check_trl_options


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that passed its checks: settings with nothing left open, data, policy, what to warn of, what to watch.

    `memory` is None for a policy that is not on this disk, or of a kind whose memory is not estimated.
    """

    settings: TrainSettings
    curated: CuratedSet
    policy: Policy
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    memory: MemoryEstimate | None = None

    @property
    def trains_adapter(self) -> bool:
        """Whether a LoRA adapter is trained, a new one or the policy's own, and not every weight."""
        return bool(self.settings.lora_rank or self.policy.adapter)


def prepare_run(settings: TrainSettings, device: Device | None = None) -> PreparedRun:
    """Fill `settings` from the curated set and check them. Loads no model.

    `device` is one to estimate the memory for that need not be here: what does not fit it is not refused. Raises
    `LearnableError` naming the setting or file, its value and the fix.
    """
    settings = begin_or_resume(settings)
    check_numbers(settings)
    rules = read_rules(settings.monitor)
    curated = download_curated(open_curated(settings.curated))
    check_engine(curated)
    settings, drawn = choose_drawing(settings, curated)
    part = settings.rows_part
    curated.check_shards((part, "test"))
    check_families(settings, curated)
    settings = settings.filled_from(curated.manifest)
    rows = count_prompts(settings, curated)
    settings, fitted = fit_batch(settings, curated, rows[part])
    check_rows(settings, curated, rows)
    staged = explain_curriculum(settings, curated)
    changed = check_verifiers(curated, part)
    silent = check_silent_rewards(settings, curated)
    policy = find_policy(settings.policy)
    check_adapter(settings, policy)
    check_chat(settings, curated, policy)
    check_foreign_options(settings)
    check_output(settings)
    trained, held_out = (read_prompt_texts(curated, name, settings.families) for name in (part, "test"))
    longest = measure_longest_prompt([*trained, *held_out], policy)
    check_lengths(settings, policy, longest)
    lengths = (longest, measure_longest_stored(settings, curated, policy))
    memory = estimate_run(settings, policy, *lengths, device or find_device())
    stored = explain_stored(settings, policy, curated)
    warnings = [
        *silent,
        *changed,
        *find_weak_settings(settings, curated, policy, rows),
        *warn_of_repeats(trained, held_out, part),
        *(check_memory(memory, settings) if memory and device is None else []),
    ]
    notes = [
        *staged,
        *drawn,
        *stored,
        *explain_forgetting(settings, curated),
        *fitted,
        *explain_other_signal(curated, settings),
        *explain_range(settings),
        *explain_pairs(settings, curated, rows[part]),
    ]
    return PreparedRun(settings, curated, policy, tuple(warnings), tuple(notes), rules, memory)


def count_prompts(settings: TrainSettings, curated: CuratedSet) -> dict[str, int]:
    """Return the prompts that are trained on, by the name of their part, and those that are measured, as `test`."""
    rows = {name: count_rows(curated, name, settings.families) for name in (settings.rows_part, "test")}
    if settings.method == "dpo" and curated.shards(settings.rows_part):
        rows[settings.rows_part] = read_pairs(curated, settings).num_rows
    if settings.held_out == "pool":
        rows["test"] += curated.read_rejected("test", settings.families).num_rows
    return rows


def estimate_run(
    settings: TrainSettings, policy: Policy, longest: int | None, longest_stored: int | None, device: Device
) -> MemoryEstimate | None:
    """Return what memory a run takes on a device; None where the policy's sizes or its tokenizer are not known here.

    `longest` are the tokens of the longest prompt, `longest_stored` those of the longest stored completion with its
    prompt.
    """
    shape = read_shape(policy)
    if shape is None or longest is None:
        return None
    rank = read_rank(settings, policy)
    return estimate_memory(shape, settings, device, prompt_tokens=longest, rank=rank, stored_tokens=longest_stored or 0)


def check_foreign_options(settings: TrainSettings) -> None:
    """Raise `LearnableError` for what TRL or vLLM would be given by their own names, and does not take."""
    check_trl_options(settings.trl, settings.method)
    check_options(settings.engine_options or {})


def check_engine(curated: CuratedSet) -> None:
    """Raise `LearnableError` for a set that was simulated, since no model answered its prompts."""
    if curated.manifest.engine == "simulated":
        raise LearnableError(
            f"curated set {str(curated.path)!r} was simulated: it is for planning, and no policy can be trained on it"
        )


def check_numbers(settings: TrainSettings) -> None:
    """Raise `LearnableError` for settings that training cannot work with, whatever the data."""
    check_positive(settings)
    choices = (
        ("method", METHODS),
        ("part", PARTS),
        ("loss_type", LOSS_TYPES),
        ("signal", SIGNALS),
        ("sampler", SAMPLERS),
        ("stored", STORED),
        ("predict", PREDICT),
        ("curriculum_by", CURRICULUM_BY),
        ("on_alarm", ON_ALARM),
        ("on_dry", ON_DRY),
        ("held_out", HELD_OUT),
    )
    for name, known in choices:
        if (value := getattr(settings, name)) is not None and value not in known:
            flag = name.replace("_", "-")
            raise LearnableError(f"--{flag} {value!r} is not known: choose one of {', '.join(known)}")
    if settings.method == "grpo":
        check_groups(settings)
        check_kl(settings)
        check_rewards(settings)
    elif settings.named_part != "train":
        raise LearnableError(
            f"--method {settings.method} trains on the {settings.rows_part} of train, and {settings.part} has none: "
            "leave out --part, or give --method grpo"
        )
    check_preferences(settings)
    chooses = "--sampler live" if settings.sampler == "live" else "--curriculum" if settings.curriculum else ""
    if chooses and settings.method != "grpo":
        raise LearnableError(f"{chooses} chooses among groups, and --method {settings.method} has none: leave it out")
    check_stored(settings)
    check_passes(settings)
    check_reach(settings)
    if settings.evaluate and settings.eval_k > settings.eval_group_size:
        raise LearnableError(
            f"--eval-k {settings.eval_k} needs as many completions a prompt, but --eval-group-size is "
            f"{settings.eval_group_size}: raise that, or lower --eval-k"
        )


def check_stored(settings: TrainSettings) -> None:
    """Raise `LearnableError` where a run cannot begin with stored groups, whatever the store has."""
    if settings.stored == "off":
        return
    if settings.method != "grpo":
        raise LearnableError(
            f"--stored first is for groups, and --method {settings.method} trains on stored completions by itself: "
            "leave it out"
        )
    if settings.curriculum:
        raise LearnableError("--stored first draws prompts of all stages: leave it out, or --curriculum")


def check_reach(settings: TrainSettings) -> None:
    """Raise `LearnableError` for a share that held-out completions cannot have, or that nothing would measure."""
    if wrong := [share for share in settings.reach if not 0 < share <= 1]:
        raise LearnableError(f"--reach {wrong[0]:g} is no share of held-out completions: give one as 0.7")
    if settings.reach and not settings.eval_steps:
        raise LearnableError(
            "--reach needs looks at held-out prompts during training: give --eval-steps too, such as 5"
        )


def check_rewards(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless TRL is given rewards of which more is better, scaled in a way that it knows."""
    if settings.scale_rewards not in (None, *SCALES):
        raise LearnableError(
            f"--scale-rewards {settings.scale_rewards!r} is not known: choose one of {', '.join(SCALES)}"
        )
    if settings.reward_range is not None:
        low, high = settings.reward_range
        if not (isfinite(low) and isfinite(high) and low < high):
            raise LearnableError(
                f"--reward-range {low:g} {high:g} is no range: give the rewards of the worst and of the best "
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
            f"--batch-size {batch} does not divide by {passes}, the completions in one pass over "
            f"{settings.num_processes} processes: choose another --micro-batch-size"
        )


def check_groups(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless a step holds whole groups that can have an advantage."""
    generations, batch = settings.num_generations, settings.batch_size
    if generations < 2:
        raise LearnableError(
            f"--num-generations {generations} leaves no advantage: it compares completions of one prompt, so give 2 "
            "or more, 16 is usual"
        )
    if batch is not None and batch % generations:
        lower, upper = batch // generations * generations, -(-batch // generations) * generations
        offer = f"{lower} or {upper}" if lower else str(upper)
        raise LearnableError(
            f"--batch-size {batch} does not divide by --num-generations {generations}: a step holds whole groups, "
            f"so give {offer}"
        )


def check_positive(settings: TrainSettings) -> None:
    """Raise `LearnableError` for a count or rate that must be above zero and is not."""
    names = ("steps", "batch_size", "micro_batch_size", "learning_rate", "temperature", "max_completion_length")
    for name in (*names, "lora_rank", "eval_group_size", "eval_k", "eval_limit", "save_steps", "num_processes"):
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise LearnableError(f"--{name.replace('_', '-')} {value:g} must be above 0")


def check_kl(settings: TrainSettings) -> None:
    """Raise `LearnableError` unless the KL term is on or was switched off knowingly."""
    if not settings.no_kl and not settings.kl_weight > 0:
        raise LearnableError(
            f"--beta {settings.kl_weight:g} switches the KL term off. Without it nothing holds the policy near where "
            "it started: rewards rise, then every completion becomes the same text, groups lose their spread, and "
            "training cannot recover. Give --beta 0.04, or say --no-kl if that is what you want"
        )


def explain_range(settings: TrainSettings) -> list[str]:
    """Return what another range of rewards changes, where one is given."""
    if settings.reward_range is None:
        return []
    low, high = settings.reward_range
    flag, width = f"--reward-range {low:g} {high:g}", high - low
    if settings.scale_rewards == "none":
        return [f"{flag} with --scale-rewards none: advantages are {width:g} times those of rewards from 0 to 1"]
    return [
        f"{flag} changes no step, for TRL divides advantages by the spread of rewards; with --scale-rewards none they "
        f"would be {width:g} times those of rewards from 0 to 1"
    ]


def check_silent_rewards(settings: TrainSettings, curated: CuratedSet) -> list[str]:
    """Return what the curation found of rewards that never move in what they ask of a completion's form.

    Raises `LearnableError` where GRPO would train on them and the settings do not allow it.
    """
    if settings.method != "grpo" or settings.signal != "reward":
        return []
    found = [finding for finding in curated.manifest.findings if finding.code == SILENT]
    if settings.families:
        found = [f for f in found if any(f.subject.startswith(f"{family}: ") for family in settings.families)]
    if found and not settings.allow_silent_reward:
        raise LearnableError(f"curated set {str(curated.path)!r}: {found[0].text}")
    return [finding.text for finding in found]


def check_adapter(settings: TrainSettings, policy: Policy) -> None:
    """Raise `LearnableError` where a LoRA adapter is to be trained, and another one over it."""
    if policy.adapter and settings.lora_rank:
        raise LearnableError(
            f"policy {policy.adapter!r} is a LoRA adapter over {policy.path!r} and is trained on as it is: leave out "
            f"--lora-rank {settings.lora_rank}"
        )


def check_chat(settings: TrainSettings, curated: CuratedSet, policy: Policy) -> None:
    """Raise `LearnableError` for chat prompts and a policy on this machine that has no chat template."""
    folder = Path(policy.path)
    config = folder / "tokenizer_config.json"
    if not config.is_file() or not has_chats(curated, settings.rows_part):
        return
    if any(folder.glob("chat_template*")) or json.loads(config.read_text(encoding="utf-8")).get("chat_template"):
        return
    raise LearnableError(
        f"curated set {str(curated.path)!r} holds chats, but the tokenizer of policy {policy.path!r} has no chat "
        "template: add a chat_template.jinja to its folder, or curate prompts of plain text"
    )


def find_weak_settings(
    settings: TrainSettings, curated: CuratedSet, policy: Policy, rows: Mapping[str, int]
) -> list[str]:
    """Return warnings about settings that work but disappoint. `rows` counts the rows of each part."""
    shape, rank = read_shape(policy), read_rank(settings, policy)
    return [
        *warn_of_groups(settings),
        *warn_of_temperature(settings),
        *warn_of_collapse(settings),
        *warn_of_learning_rate(settings, shape.parameters if shape else None, lora=bool(rank)),
        *_find_other_policy(curated, policy),
        *([] if settings.measured_on else warn_of_few_held_out(settings, rows["test"])),
        *warn_of_epochs(settings, rows[settings.rows_part]),
        *warn_of_short_completions(settings, curated.manifest),
    ]


def _find_other_policy(curated: CuratedSet, policy: Policy) -> list[str]:
    curated_for = curated.manifest.policy.policy_id
    if not curated_for or _names_weights(weights_id(curated_for), policy):
        return []
    return [
        f"the set was curated for {curated_for}, but {policy.policy_id} is trained: what is learnable for one policy "
        "need not be for another"
    ]


def _names_weights(weights: str, policy: Policy) -> bool:
    """Whether that part of an id names the policy's weights: as hashed now, or in full."""
    own, folder = weights_id(policy.policy_id), Path(policy.path)
    if weights == own or policy.adapter or not (folder / "config.json").is_file():
        return weights == own
    return is_sampled(own) and weights == hash_folder(folder, every_byte=True)
