"""Which prompts a run draws, and how, where nobody said: by certificates, from what was kept and rejected alike.

Measured on pools of the bundled policy (`benchmarks/lift`): a live sampler on the whole pool learns as fast as training
on the kept prompts alone, and what the policy had mastered comes back for review, where kept prompts alone let it be
forgotten.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from learnable.data.curated.curated_set import UNKEPT_PARTS, CuratedSet, UnknownSideError
from learnable.data.errors import LearnableError
from learnable.data.tables import prompt_from_row
from learnable.train.live.course import Course
from learnable.train.preflight.shards import check_columns, count_rows
from learnable.train.settings import TrainSettings
from learnable.verifiers.families.curriculum import read_curriculum


def choose_drawing(settings: TrainSettings, curated: CuratedSet) -> tuple[TrainSettings, list[str]]:
    """Return the settings with part and sampler, and what was chosen where neither was named.

    A part that is named is trained on as it is, each prompt once an epoch, unless the live sampler is named too. Raises
    `LearnableError` for a shard that is not readable Parquet.
    """
    if settings.method != "grpo" or settings.part is not None or settings.sampler == "static":
        return replace(settings, part=settings.named_part, sampler=settings.sampler or "static"), []
    kept, rejected = _count_both(settings, curated)
    if not (kept and rejected):  # all that there is, or nothing to learn from
        return replace(settings, part="train", sampler=settings.sampler or "static"), []
    note = (
        f"draws from {kept + rejected:,} prompts, {kept:,} kept and {rejected:,} rejected, those whose groups are "
        "expected to disagree, by their certificates and the run's own rewards; `part` train takes the kept ones "
        "alone, each once an epoch"
    )
    return replace(settings, part="pool", sampler="live"), [note]


def explain_forgetting(settings: TrainSettings, curated: CuratedSet) -> list[str]:
    """Return a note where a run takes kept prompts alone and the policy had mastered others, which it may forget."""
    if settings.method != "grpo" or settings.part != "train":
        return []
    try:
        mastered = curated.read_mastered("train", settings.families).num_rows
    except LearnableError:  # rejects that cannot be read are no part of this run
        return []
    if not mastered:
        return []
    return [
        f"`part` train leaves out {mastered:,} prompts that the policy had mastered; trained on kept prompts alone, "
        "policies have forgotten such. `part` reviewed takes some along, as a tenth of its prompts"
    ]


def explain_curriculum(settings: TrainSettings, curated: CuratedSet) -> list[str]:
    """Return what the stages of a run's curriculum are, where it has one.

    Raises `LearnableError` for a curriculum that the set's prompts cannot follow.
    """
    course = make_course(settings, curated.read(settings.named_part, settings.families))
    return [explain_course(settings, course)] if course else []


def make_course(settings: TrainSettings, rows: pa.Table) -> Course | None:
    """Return the course of a run over the rows that it is trained on; None for a run without a curriculum.

    Raises `LearnableError` for a curriculum that cannot be read, or that these prompts cannot be assigned to.
    """
    if not settings.curriculum:
        return None
    curriculum = read_curriculum(settings.curriculum)
    prompts = [prompt_from_row(row, settings.curated) for row in rows.to_pylist()]
    return Course(curriculum, np.asarray(curriculum.assign(prompts), np.int64), settings.curriculum_by)


def explain_course(settings: TrainSettings, course: Course) -> str:
    """Return what the stages of a run are and how many prompts each has.

    Raises `LearnableError` where a stage that may be reached has fewer prompts than a step takes.
    """
    stages, last = course.curriculum.stages, settings.steps
    parts, late = [], []
    for number, stage in enumerate(stages):
        count = int((course.stage_of == number).sum())
        if course.by == "step" and stage.from_step >= last:
            late.append(stage.name)
            continue
        if count < settings.prompts_per_step:
            raise LearnableError(
                f"`curriculum` {settings.curriculum}: stage {stage.name!r} has {count} prompts of this set, and a step "
                f"takes {settings.prompts_per_step}: curate prompts of that stage too (find-learnable --curriculum "
                "FILE --stage NAME has its knobs), give a smaller `batch_size`, or leave the stage out"
            )
        begins = f" from step {stage.from_step}" if course.by == "step" else ""
        parts.append(f"{stage.name}{begins} ({count:,} prompts)")
    how = "by step" if course.by == "step" else f"up at {course.curriculum.up:g}, down at {course.curriculum.down:g}"
    note = f"curriculum {settings.curriculum}, {how}: {', '.join(parts)}"
    none = int((course.stage_of < 0).sum())
    note += f"; {none:,} prompts are of no stage and are not drawn" if none else ""
    return note + (f"; `steps` {last} ends before {', '.join(late)}" if late else "")


def _count_both(settings: TrainSettings, curated: CuratedSet) -> tuple[int, int]:
    """Count the prompts to train on that were kept, and rejected: 0 of a set that does not say which are held out."""
    if not (curated.shards("train") and any(curated.shards(part) for part in UNKEPT_PARTS)):
        return 0, 0
    check_columns(curated, "pool")
    try:
        rejected = curated.read_rejected("train", settings.families).num_rows
    except UnknownSideError:
        rejected = 0
    return count_rows(curated, "train", settings.families), rejected
