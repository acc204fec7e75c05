"""Is this training run going to work? Checked, and answered in plain words, before anything heavy starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from learnable.data.curated.curated_set import CuratedSet, download_curated, open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, find_policy
from learnable.data.records import weights_id
from learnable.data.storage.weights import hash_folder, is_sampled
from learnable.rollouts.vllm_engine import check_options
from learnable.train.monitor.forecast import TrainingForecast, explain_other_signal, forecast_training
from learnable.train.monitor.rules import AlarmRule, read_rules
from learnable.train.preflight.bounds import check_numbers
from learnable.train.preflight.device import Device, find_device
from learnable.train.preflight.drawing import explain_curriculum, explain_forgetting
from learnable.train.preflight.estimate import MemoryEstimate
from learnable.train.preflight.launch import check_launch, fill_processes
from learnable.train.preflight.loading import LoadedSet
from learnable.train.preflight.memory import (
    check_memory,
    estimate_memory,
    read_rank,
    read_shape,
)
from learnable.train.preflight.output import begin_or_resume, check_output
from learnable.train.preflight.pairs import explain_pairs, measure_longest_stored
from learnable.train.preflight.resolution import Resolution, TrainingRun, count_trained, resolve_settings
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
from learnable.train.settings import TrainSettings
from learnable.train.trl_options import check_trl_options


@dataclass(frozen=True, slots=True)
class PreparedRun(TrainingRun):
    """A run that passed its checks, with what to warn of, what else to say, and what its certificates forecast.

    `memory` is None for a policy that is not on this disk, or of a kind whose memory is not estimated.
    """

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    memory: MemoryEstimate | None = None
    forecast: TrainingForecast | None = None


def prepare_run(settings: TrainSettings, device: Device | None = None) -> PreparedRun:
    """Fill `settings` from the curated set and check them. Loads no model, and opens each shard once.

    `device` is one to estimate the memory for that need not be here: what does not fit it is not refused. Raises
    `LearnableError` naming the setting or file, its value and the fix.
    """
    begun = fill_processes(begin_or_resume(settings), planned=device is not None)
    check_numbers(begun)
    rules = read_rules(begun.monitor)
    curated = LoadedSet.of(download_curated(open_curated(begun.curated)))
    check_engine(curated)
    return check_run(resolve_settings(begun, curated), curated, rules, device)


def check_run(
    resolved: Resolution, curated: LoadedSet, rules: tuple[AlarmRule, ...] = (), device: Device | None = None
) -> PreparedRun:
    """Return a run with nothing left open, with what to warn of and what else to say, once its checks have passed.

    `device` is as in `prepare_run`. Raises `LearnableError` for a set, a policy or a folder that it cannot work with.
    """
    settings, part = resolved.settings, resolved.settings.rows_part
    rows, staged, doubts = check_set(settings, curated)
    policy = find_policy(settings.policy)
    check_adapter(settings, policy)
    check_chat(settings, curated, policy)
    check_foreign_options(settings)
    if device is None:
        check_launch(settings)
    check_output(settings)
    trained, held_out = (read_prompt_texts(curated, name, settings.families) for name in (part, "test"))
    longest = measure_longest_prompt([*trained, *held_out], policy)
    check_lengths(settings, policy, longest)
    lengths = (longest, measure_longest_stored(settings, curated, policy))
    memory = estimate_run(settings, policy, *lengths, device or find_device())
    stored = explain_stored(settings, policy, curated)
    warnings = (
        *doubts,
        *find_weak_settings(settings, curated, policy, rows),
        *warn_of_repeats(trained, held_out, part),
        *(check_memory(memory, settings) if memory and device is None else []),
    )
    notes = (*staged, *resolved.drawing, *stored, *explain_rest(resolved, curated, rows[part]))
    forecast = forecast_training(curated, settings)
    return PreparedRun(settings, curated.unread, policy, rules, warnings, notes, memory=memory, forecast=forecast)


def check_set(settings: TrainSettings, curated: LoadedSet) -> tuple[dict[str, int], list[str], list[str]]:
    """Return the set's rows as `count_prompts` counts them, what to say of its curriculum, and what to warn of.

    Raises `LearnableError` for a set that the settings cannot train on.
    """
    part = settings.rows_part
    curated.check_shards((part, "test"))
    check_families(settings, curated)
    rows = count_prompts(settings, curated)
    check_rows(settings, curated, rows)
    staged = explain_curriculum(settings, curated)
    changed = check_verifiers(curated, part)
    return rows, staged, [*check_silent_rewards(settings, curated), *changed]


def explain_rest(resolved: Resolution, curated: LoadedSet, count: int) -> list[str]:
    """Return what else to say of a run on so many prompts: forgetting, batch, signal, range and pairs."""
    settings = resolved.settings
    return [
        *explain_forgetting(settings, curated),
        *resolved.batch,
        *explain_other_signal(curated, settings),
        *explain_range(settings),
        *explain_pairs(settings, curated, count),
    ]


def count_prompts(settings: TrainSettings, curated: CuratedSet) -> dict[str, int]:
    """Return the prompts that are trained on, by the name of their part, and those that are measured, as `test`."""
    rows = {settings.rows_part: count_trained(settings, curated)}
    rows["test"] = count_rows(curated, "test", settings.families)
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


def explain_range(settings: TrainSettings) -> list[str]:
    """Return what another range of rewards changes, where one is given."""
    if settings.reward_range is None:
        return []
    low, high = settings.reward_range
    flag, width = f"`reward_range` {low:g} {high:g}", high - low
    if settings.scale_rewards == "none":
        return [f"{flag} with `scale_rewards` none: advantages are {width:g} times those of rewards from 0 to 1"]
    return [
        f"{flag} changes no step, for TRL divides advantages by the spread of rewards; with `scale_rewards` none they "
        f"would be {width:g} times those of rewards from 0 to 1"
    ]


def check_silent_rewards(settings: TrainSettings, curated: CuratedSet) -> list[str]:
    """Return what the curation found of rewards that never move in what they ask of a completion's form.

    Raises `LearnableError` where GRPO would train on them and the settings do not allow it.
    """
    if settings.method != "grpo" or settings.signal != "reward":
        return []
    findings = [finding for finding in curated.manifest.findings if finding.code == "silent_reward"]
    if settings.families:
        findings = [f for f in findings if any(map(f.is_about, settings.families))]
    if findings and not settings.allow_silent_reward:
        raise LearnableError(f"curated set {str(curated.path)!r}: {findings[0].text}")
    return [finding.text for finding in findings]


def check_adapter(settings: TrainSettings, policy: Policy) -> None:
    """Raise `LearnableError` where a LoRA adapter is to be trained, and another one over it."""
    if policy.adapter and settings.lora_rank:
        raise LearnableError(
            f"policy {policy.adapter!r} is a LoRA adapter over {policy.path!r} and is trained on as it is: leave out "
            f"`lora_rank` {settings.lora_rank}"
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
