"""Which prompts a run draws, and how, where nobody said: by certificates, from what was kept and rejected alike.

Measured on pools of the bundled policy (`benchmarks/lift`): a live sampler on the whole pool learns as fast as training
on the kept prompts alone, and what the policy had mastered comes back for review, where kept prompts alone let it be
forgotten.
"""

from __future__ import annotations

from dataclasses import replace

from learnable.data.curated.curated_set import ASIDE, CuratedSet, UnknownSideError
from learnable.data.errors import LearnableError
from learnable.train.preflight.shards import check_columns, count_rows
from learnable.train.settings import TrainSettings


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
        "expected to disagree, by their certificates and the run's own rewards; --part train takes the kept ones "
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
        f"--part train leaves out {mastered:,} prompts that the policy had mastered; trained on kept prompts alone, "
        "policies have forgotten such. --part reviewed takes some along, as a tenth of its prompts"
    ]


def _count_both(settings: TrainSettings, curated: CuratedSet) -> tuple[int, int]:
    """Count the prompts to train on that were kept, and rejected: 0 of a set that does not say which are held out."""
    if not (curated.shards("train") and any(curated.shards(part) for part in ASIDE)):
        return 0, 0
    check_columns(curated, "pool")
    try:
        rejected = curated.read_rejected("train", settings.families).num_rows
    except UnknownSideError:
        rejected = 0
    return count_rows(curated, "train", settings.families), rejected
