"""Evaluations that are there already: runs beside each other begin with one policy, and it is measured once.

The completions of an evaluation follow from its settings and the policy, so another one would find the same.
"""

from __future__ import annotations

import json
from pathlib import Path

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.train.results.evaluation import (
    Evaluation,
    EvaluationSettings,
    find_versions,
    read_evaluation,
    read_held_out,
)

MOMENTS = ("before", "after")  # what is after one run is before the next, which goes on with its policy
NOT_COMPARED = ("output", "policy")  # of the settings: what counts of a policy is its id


def settings_file(folder: Path, moment: str) -> Path:
    """Return where a run's folder has the settings of an evaluation before or after training."""
    return folder / f"{moment}-settings.json"


def evaluation_file(folder: Path, moment: str) -> Path:
    """Return where a run's folder has an evaluation."""
    return folder / f"{moment}.json"


def find_evaluation(settings: EvaluationSettings, folder: Path) -> Path | None:
    """Return the file of an evaluation as `settings` ask for, of a run in `folder` or of one beside it; None for none.

    It is one of the same completions: of the same prompts under the same policy, with the same seed, sampling and
    engine options, judged by the same versions of the verifiers. That of the folder itself comes first.
    """
    policy_id = find_policy(settings.policy).policy_id
    others = sorted(other for other in folder.parent.glob("*/") if other != folder)
    for run in (folder, *others):
        for moment in MOMENTS:
            if _asks_the_same(settings_file(run, moment), settings):
                found = _read(evaluation_file(run, moment))
                if found and found.policy_id == policy_id and _is_current(found, settings):
                    return evaluation_file(run, moment)
    return None


def _asks_the_same(file: Path, settings: EvaluationSettings) -> bool:
    try:
        theirs = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    own = json.loads(json.dumps(settings.as_json()))
    return isinstance(theirs, dict) and all(
        theirs.get(name) == own.get(name) for name in {*theirs, *own} - {*NOT_COMPARED}
    )


def _read(file: Path) -> Evaluation | None:
    try:
        return read_evaluation(file)
    except (LearnableError, ValueError, KeyError, TypeError):
        return None


def _is_current(found: Evaluation, settings: EvaluationSettings) -> bool:
    """Whether it is of the prompts that are held out now, and of the verifiers as they are now."""
    held_out = read_held_out(open_curated(settings.curated), settings.held_out, settings.families, settings.limit)
    same_prompts = [one.prompt_id for one in found.prompts] == [prompt.prompt_id for prompt in held_out.prompts]
    return same_prompts and dict(found.verifiers) == find_versions(held_out.prompts)
