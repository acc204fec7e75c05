"""What an evaluation of a policy on held-out prompts asks for, and what it finds (`flows.evaluating` makes it)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.data.records import JsonObject, Prompt, Sampling
from learnable.data.tables import prompt_from_row
from learnable.train.settings import HeldOutName
from learnable.verifiers.registry import find_verifier

SEED_OFFSET = 0x5EED  # added to the run's seed: no completion of the curation is repeated
PartName = Literal["kept", "rejected"]


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """One evaluation, as plain data. `limit` takes the first held-out prompts in the order of their ids.

    `held_out` is as in `TrainSettings`; `engine_options` go to `vllm.LLM` as they are. `store` is that of which the
    evaluations have completions, and get them; empty for one beside the output alone.
    """

    curated: str
    policy: str
    sampling: Sampling
    group_size: int
    seed: int
    limit: int | None
    output: str
    families: tuple[str, ...] = ()
    held_out: HeldOutName = "kept"
    engine_options: Mapping[str, object] = field(default_factory=dict)
    store: str = ""

    def as_json(self) -> JsonObject:
        """Return the settings as `write` writes them; the last two only where they are given."""
        plain = asdict(self) | {"families": list(self.families), "sampling": self.sampling.to_json()}
        usual = {"held_out": "kept", "engine_options": {}, "store": ""}
        return {name: value for name, value in plain.items() if name not in usual or value != usual[name]}

    def write(self, path: Path) -> None:
        """Write the settings as JSON."""
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class HeldOutPrompts:
    """Held-out prompts in the order of their ids, which says nothing about them; `rejected` has the ids of some."""

    prompts: Sequence[Prompt]
    rejected: Collection[str] = frozenset()

    def find_part(self, prompt: Prompt) -> PartName:
        """Return whether the curation kept a prompt."""
        return "rejected" if prompt.prompt_id in self.rejected else "kept"


@dataclass(frozen=True, slots=True)
class PromptResult:
    """One held-out prompt. `n` of its completions have a reward; `mean` is None where n is 0.

    `greedy` and `greedy_passed` are those of the completion at temperature 0.
    """

    prompt_id: str
    family: str
    form: str
    n: int
    passes: int
    mean: float | None
    unscored: int
    greedy: float | None
    greedy_passed: bool | None
    part: PartName = "kept"
    difficulty: float | None = None
    problem_id: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All held-out prompts under one policy. `verifiers` are the versions that judged, by name."""

    policy_id: str
    prompts: tuple[PromptResult, ...]
    tokens: int
    seconds: float
    verifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_id(self) -> dict[str, PromptResult]:
        """Results by prompt id."""
        return {result.prompt_id: result for result in self.prompts}


def evaluation_file(folder: Path, moment: str) -> Path:
    """Return where a run's folder has an evaluation, of the moment `before` or `after` training."""
    return folder / f"{moment}.json"


def settings_file(folder: Path, moment: str) -> Path:
    """Return where a run's folder has the settings of an evaluation."""
    return folder / f"{moment}-settings.json"


def is_measured(settings: EvaluationSettings, file: Path) -> bool:
    """Whether the output is of these settings, which `file` then has, and of prompts, policy and judges as they are."""
    try:
        written, evaluation = read_evaluation_settings(file), read_evaluation(Path(settings.output))
    except (LearnableError, ValueError, KeyError, TypeError):
        return False
    if replace(written, output="", policy="", store="") != replace(settings, output="", policy="", store=""):
        return False
    held_out = read_held_out(open_curated(settings.curated), settings.held_out, settings.families, settings.limit)
    return (
        evaluation.policy_id == find_policy(settings.policy).policy_id
        and [one.prompt_id for one in evaluation.prompts] == [prompt.prompt_id for prompt in held_out.prompts]
        and dict(evaluation.verifiers) == find_versions(held_out.prompts)
    )


def read_evaluation_settings(path: Path) -> EvaluationSettings:
    """Read what `EvaluationSettings.write` wrote. Raises `LearnableError` where it is not there or not readable."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        sampling, families = Sampling.from_json(values["sampling"]), tuple(values["families"])
        return EvaluationSettings(**{**values, "sampling": sampling, "families": families})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearnableError(f"settings of an evaluation {str(path)!r} cannot be read: {error}") from error


def find_versions(prompts: Sequence[Prompt]) -> dict[str, str]:
    """Return the versions of the prompts' verifiers as they are now, by name. Raises `LearnableError` as they load."""
    return {name: find_verifier(name).version for name in sorted({prompt.verifier for prompt in prompts})}


def read_held_out(
    curated: CuratedSet, held_out: HeldOutName = "kept", families: Collection[str] = (), limit: int | None = None
) -> HeldOutPrompts:
    """Return held-out prompts: the kept ones, or those of the pool, which the curation kept or rejected.

    Raises `LearnableError` for a set or a shard that cannot be read, and for a set that does not say which of its
    rejects are held out.
    """
    kept = curated.read("test", families).to_pylist()
    rejected = curated.read_rejected("test", families).to_pylist() if held_out == "pool" else []
    rows = sorted([*kept, *rejected], key=lambda row: str(row.get("prompt_id")))[:limit]
    return HeldOutPrompts(
        [prompt_from_row(row, str(curated.path)) for row in rows], frozenset(row["prompt_id"] for row in rejected)
    )


def read_evaluation(path: Path) -> Evaluation:
    """Read what an evaluation wrote. Raises `LearnableError` when it is not there."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(
            f"evaluation {str(path)!r} cannot be read: {error.strerror}; run again with `resume`"
        ) from error
    return Evaluation(
        policy_id=values["policy_id"],
        prompts=tuple(PromptResult(**prompt) for prompt in values["prompts"]),
        tokens=values["tokens"],
        seconds=values["seconds"],
        verifiers=values.get("verifiers", {}),
    )
