"""Where a run writes: the next free folder or the one to resume, and the settings that a resumed run began with."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.storage.places import make_folder
from learnable.train.file_settings import check_file_settings, read_settings
from learnable.train.settings import TrainSettings
from learnable.verifiers.registry import trust_verifiers

RUNS = Path("runs")  # for runs that were given no folder
# What a resumed run may do otherwise than it began.
MAY_CHANGE = {"output", "resume", "steps", "save_steps", "evaluate", "eval_group_size", "eval_k", "eval_limit"}
MAY_CHANGE |= {"eval_steps", "reach", "num_processes", "micro_batch_size", "report_to", "allow_silent_reward"}
MAY_CHANGE |= {"monitor", "on_alarm", "held_out", "engine_options", "verifiers"}


def choose_run_folder(curated: str, part: str | None = None, *, resume: bool = False, prefix: str = "") -> str:
    """Return `runs/NAME-N`, the next one or the last one to resume; `runs/NAME-PART-N` where a part is named.

    NAME is that of the set, with its version where that is named, after the `prefix`.
    """
    parts = [name for name in Path(curated).parts if name not in ("/", ".", "..")]
    name = prefix + "-".join(parts[-2:] if parts[-1].startswith("v") else parts[-1:])
    name = f"{name}-{part}" if part else name
    numbers = [int(number) for path in RUNS.glob(f"{name}-*") if (number := path.name[len(name) + 1 :]).isdigit()]
    last = max(numbers, default=0)
    return str(RUNS / f"{name}-{last if resume and last else last + 1}")


def begin_or_resume(settings: TrainSettings) -> TrainSettings:
    """Return the settings with a folder, and those that a run to go on with began with.

    Verifiers are trusted as they were typed, and not as the file of that run has them. Raises `LearnableError` as
    `resume_settings` does, and for a verifier that cannot judge.
    """
    trust_verifiers(settings.verifiers)
    if not settings.output:
        settings = replace(settings, output=choose_run_folder(settings.curated, settings.part, resume=settings.resume))
    return resume_settings(settings) if settings.resume else settings


def check_output(settings: TrainSettings) -> None:
    """Make the output folder. Raises `LearnableError` when it cannot be written or contains another run."""
    folder = settings.folder
    make_folder(folder, f"output {str(folder)!r}", "output")
    if not settings.resume and any((folder / name).exists() for name in ("metrics.jsonl", "checkpoints")):
        raise LearnableError(
            f"output {str(folder)!r} already holds a training run: go on with `resume`, or choose another `output`"
        )


def resume_settings(settings: TrainSettings) -> TrainSettings:
    """Return the settings that the run in `output` began with, with what may change taken from `settings`.

    What still has its default counts as not given. Raises `LearnableError` when there is no run to go on with, when a
    given value would make it another run, and for what its file sets and only the person who types may.
    """
    file = settings.folder / "settings.json"
    if not file.is_file():
        raise LearnableError(f"output {settings.output!r} holds no training run: leave `resume` out to start one")
    saved = read_settings(file)
    check_file_settings(asdict(saved), f"settings file {str(file)!r}", asdict(settings))
    saved = replace(saved, part=saved.named_part, sampler=saved.sampler or "static")  # which an old file does not say
    given = {f.name: getattr(settings, f.name) for f in fields(settings) if getattr(settings, f.name) != f.default}
    for name, value in given.items():
        before = getattr(saved, name)
        if name not in MAY_CHANGE and value != before and not _is_same_path(value, before):
            raise LearnableError(
                f"`{name}` {value} is not what this run was started with ({before}): leave it out, "
                "or start a new run in another `output`"
            )
    return replace(saved, **{name: value for name, value in given.items() if name in MAY_CHANGE})


def _is_same_path(one: object, other: object) -> bool:
    return isinstance(one, str) and isinstance(other, str) and Path(one).resolve() == Path(other).resolve()
