"""Is this training run going to work? Asked, and answered in plain words, before anything heavy starts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from learnable.data.curated.curated_set import CuratedSet, download_curated, open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, find_policy
from learnable.train.folders import run_folder
from learnable.train.preflight.lengths import check_lengths
from learnable.train.preflight.shards import check_families, check_rows, check_verifiers, count_rows, has_chats
from learnable.train.settings import LOSS_TYPES, METHODS, PARTS, SIGNALS, USUAL_BATCH, TrainSettings, read_settings

# What a resumed run may do otherwise than it began.
MAY_CHANGE = {"output", "resume", "steps", "save_steps", "evaluate", "eval_group_size", "eval_k", "eval_limit"}
MAY_CHANGE |= {"eval_steps", "num_processes", "micro_batch_size", "report_to"}
FEW_GENERATIONS = 8
FEW_HELD_OUT = 8


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that passed its checks: settings with nothing left open, data, policy, and what to warn of."""

    settings: TrainSettings
    curated: CuratedSet
    policy: Policy
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()


def prepare_run(settings: TrainSettings) -> PreparedRun:
    """Fill `settings` from the curated set and check them. Loads no model.

    Raises `LearnableError` naming the setting or file, its value and the fix.
    """
    if not settings.output:
        settings = replace(settings, output=run_folder(settings.curated, settings.part, resume=settings.resume))
    if settings.resume:
        settings = resumed_settings(settings)
    check_numbers(settings)
    curated = download_curated(open_curated(settings.curated))
    check_engine(curated)
    curated.check_shards((settings.rows_part, "test"))
    check_families(settings, curated)
    rows = {part: count_rows(curated, part, settings.families) for part in (settings.rows_part, "test")}
    asked, settings = settings, settings.filled_from(curated.manifest).fitted_to(rows[settings.rows_part])
    check_rows(settings, curated, rows)
    check_verifiers(curated, settings.rows_part)
    policy = find_policy(settings.policy)
    check_chat(settings, curated, policy)
    check_output(settings)
    warnings = [*weak_settings(settings, curated, policy, rows), *check_lengths(settings, curated, policy)]
    return PreparedRun(settings, curated, policy, tuple(warnings), tuple(fitted_batch(asked, settings, rows)))


def check_engine(curated: CuratedSet) -> None:
    """Raise `LearnableError` for a set that no model was asked for."""
    if curated.manifest.engine == "simulated":
        raise LearnableError(
            f"curated set {str(curated.path)!r} was simulated: it is for planning, and no policy can be trained on it"
        )


def check_numbers(settings: TrainSettings) -> None:
    """Raise `LearnableError` for settings that training cannot work with, whatever the data."""
    check_positive(settings)
    choices = (("method", METHODS), ("part", PARTS), ("loss_type", LOSS_TYPES), ("signal", SIGNALS))
    for name, known in choices:
        if (value := getattr(settings, name)) not in known:
            flag = name.replace("_", "-")
            raise LearnableError(f"--{flag} {value!r} is not known: choose one of {', '.join(known)}")
    if settings.method == "grpo":
        check_groups(settings)
        check_kl(settings)
    elif settings.part != "train":
        raise LearnableError(
            f"--method sft trains on the demonstrations of train, and {settings.part} has none: leave out --part, or give "
            "--method grpo"
        )
    check_passes(settings)
    if settings.evaluate and settings.eval_k > settings.eval_group_size:
        raise LearnableError(
            f"--eval-k {settings.eval_k} needs as many completions a prompt, but --eval-group-size is "
            f"{settings.eval_group_size}: raise that, or lower --eval-k"
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
    if not settings.no_kl and not settings.beta > 0:
        raise LearnableError(
            f"--beta {settings.beta:g} switches the KL term off. Without it nothing holds the policy near where it "
            "started: rewards rise, then every completion becomes the same text, groups lose their spread, and "
            "training cannot recover. Give --beta 0.04, or say --no-kl if that is what you want"
        )


def fitted_batch(asked: TrainSettings, settings: TrainSettings, rows: Mapping[str, int]) -> list[str]:
    """Say of a batch size that was chosen here, where it is not the usual one, what it was chosen for."""
    if asked.batch_size is not None or settings.batch_size == USUAL_BATCH:
        return []
    rest = "" if settings.method == "sft" else f" x {settings.num_generations} completions"
    named = "demonstrations" if settings.method == "sft" else f"{settings.part} prompts"
    return [
        f"--batch-size {settings.batch_size}, not the usual {USUAL_BATCH}: {settings.prompts_per_step} of the set's "
        f"{rows[settings.rows_part]} {named} a step{rest}"
    ]


def check_chat(settings: TrainSettings, curated: CuratedSet, policy: Policy) -> None:
    """Raise `LearnableError` for chat prompts and a policy on this machine that has no chat template."""
    folder = Path(policy.path)
    config = folder / "tokenizer_config.json"
    if not config.is_file() or not has_chats(curated, settings.rows_part):
        return
    if any(folder.glob("chat_template*")) or json.loads(config.read_text(encoding="utf-8")).get("chat_template"):
        return
    raise LearnableError(
        f"curated set {str(curated.path)!r} holds chats, but the tokenizer of policy {policy.path!r} has no chat template: "
        "add a chat_template.jinja to its folder, or curate prompts of plain text"
    )


def check_output(settings: TrainSettings) -> None:
    """Make the output folder. Raises `LearnableError` when it cannot be written or holds another run."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LearnableError(
            f"output {str(folder)!r} cannot be made ({error.strerror}): choose another --output"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LearnableError(f"output {str(folder)!r} cannot be written: choose another --output")
    if not settings.resume and any((folder / name).exists() for name in ("metrics.jsonl", "checkpoints")):
        raise LearnableError(
            f"output {str(folder)!r} already holds a training run: go on with --resume, or choose another --output"
        )


def resumed_settings(settings: TrainSettings) -> TrainSettings:
    """Return the settings that the run in `output` was started with, with what may change taken from `settings`.

    What still has its default counts as not given. Raises `LearnableError` when there is no run to go on with, or
    when a given value would make it another run.
    """
    file = settings.folder / "settings.json"
    if not file.is_file():
        raise LearnableError(f"output {settings.output!r} holds no training run: leave --resume out to start one")
    saved = read_settings(file)
    given = {f.name: getattr(settings, f.name) for f in fields(settings) if getattr(settings, f.name) != f.default}
    for name, value in given.items():
        before = getattr(saved, name)
        if name not in MAY_CHANGE and value != before and not _same_path(value, before):
            raise LearnableError(
                f"--{name.replace('_', '-')} {value} is not what this run was started with ({before}): leave it out, or "
                "start a new run in another --output"
            )
    return replace(saved, **{name: value for name, value in given.items() if name in MAY_CHANGE})


def _same_path(one: object, other: object) -> bool:
    return isinstance(one, str) and isinstance(other, str) and Path(one).resolve() == Path(other).resolve()


def weights_of(policy_id: str) -> str:
    """Return the part of a policy's id that is the same under every folder name.

    >>> weights_of("policy@3806c6e7")
    '3806c6e7'
    """
    return policy_id.rpartition("@")[2]


def weak_settings(settings: TrainSettings, curated: CuratedSet, policy: Policy, rows: Mapping[str, int]) -> list[str]:
    """Return warnings about settings that work but disappoint."""
    warnings = []
    generations = settings.num_generations
    if generations < FEW_GENERATIONS and settings.method == "grpo":
        warnings.append(
            f"--num-generations {generations} is small: at a pass rate of 0.25, {0.75**generations + 0.25**generations:.0%}"
            f" of groups would have no spread and teach nothing (1% at 16)"
        )
    if settings.no_kl:
        warnings.append("training without a KL term: watch entropy, since nothing stops the policy from collapsing")
    curated_for = curated.manifest.policy.policy_id
    if curated_for and weights_of(curated_for) != weights_of(policy.policy_id):
        warnings.append(
            f"the set was curated for {curated_for}, but {policy.policy_id} is trained: what is learnable for one "
            "policy need not be for another"
        )
    if settings.evaluate and rows["test"] < FEW_HELD_OUT:
        warnings.append(f"only {rows['test']} held-out prompts: too few to tell a change from chance")
    count = rows[settings.rows_part]
    epochs = settings.steps * settings.prompts_per_step / count
    if epochs > 20:
        warnings.append(f"{settings.steps} steps visit each of {count} prompts {epochs:.0f} times: expect over-fitting")
    return warnings
