"""How good is a policy on held-out prompts? Measured with the real engine, in a process of its own.

    python -m learnable.train.results.evaluation SETTINGS.json

The held-out prompts were selected by the policy's rollouts during curation. Those rollouts cannot serve as
the figure before training: prompts that were lucky are over-represented among the kept ones, so the figure
would be too near the middle of the band, and every later one would seem to move away from it. So both
figures, before and after, come from new completions.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Prompt, Rollout, Sampling, Score
from learnable.data.storage.places import write_whole
from learnable.data.tables import prompt_from_row
from learnable.rollouts.protocol import Engine, GroupRequest, Refusal
from learnable.train.child import OnEvent, serve
from learnable.train.settings import HeldOutName
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import find_verifier

SEED_OFFSET = 0x5EED  # added to the run's seed: no completion of the curation is repeated
PartName = Literal["kept", "rejected"]


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """One evaluation, as plain data. `limit` takes the first held-out prompts in the order of their ids.

    `held_out` is as in `TrainSettings`; `engine_options` go to `vllm.LLM` as they are.
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

    def as_json(self) -> JsonObject:
        """Return the settings as `write` writes them; the last two only where they are given."""
        plain = asdict(self) | {"families": list(self.families), "sampling": self.sampling.to_json()}
        usual = {"held_out": "kept", "engine_options": {}}
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


def main(path: Path, emit: OnEvent) -> None:
    """Evaluate as the settings file says and write the result to its `output`."""
    values = json.loads(path.read_text(encoding="utf-8"))
    settings = EvaluationSettings(**{**values, "sampling": Sampling.from_json(values["sampling"])})
    held_out = read_held_out(open_curated(settings.curated), settings.held_out, settings.families, settings.limit)
    from learnable.rollouts.vllm_engine import VLLMEngine

    started = time.monotonic()
    with ScoringPool(workers=1) as pool:
        pool.warm_up({prompt.verifier for prompt in held_out.prompts})
        engine = VLLMEngine(settings.policy, **settings.engine_options)
        result = evaluate_policy(engine, pool, held_out, settings, emit)
        engine.close()
    evaluation = {**asdict(result), "seconds": round(time.monotonic() - started, 2)}
    write_whole(Path(settings.output), lambda file: file.write_text(json.dumps(evaluation), encoding="utf-8"))


def evaluate_policy(
    engine: Engine, pool: ScoringPool, held_out: HeldOutPrompts, settings: EvaluationSettings, emit: OnEvent
) -> Evaluation:
    """Sample a new group and one greedy completion of each prompt, and score them while the engine goes on.

    Raises `LearnableError` when the engine refuses a prompt, and `EngineError` when it fails.
    """
    prompts, greedy = held_out.prompts, settings.sampling.as_greedy
    seed, size = settings.seed + SEED_OFFSET, settings.group_size
    meter = _Meter(len(prompts) * (size + 1), emit)
    groups = _score(engine, pool, [GroupRequest(p, size, seed=seed) for p in prompts], settings.sampling, meter)
    singles = _score(engine, pool, [GroupRequest(p, 1, seed=seed) for p in prompts], greedy, meter)
    results = [
        summarise_prompt(p, groups[p.prompt_id], singles[p.prompt_id][0], held_out.find_part(p)) for p in prompts
    ]
    versions = find_versions(prompts)
    return Evaluation(engine.policy_id, tuple(results), tokens=meter.tokens, seconds=0.0, verifiers=versions)


def find_versions(prompts: Sequence[Prompt]) -> dict[str, str]:
    """Return the versions of the prompts' verifiers as they are now, by name. Raises `LearnableError` as they load."""
    return {name: find_verifier(name).version for name in sorted({prompt.verifier for prompt in prompts})}


def summarise_prompt(prompt: Prompt, scores: Sequence[Score], greedy: Score, part: PartName = "kept") -> PromptResult:
    """Reduce one prompt's scores. Completions without a reward are counted and otherwise left out."""
    rewards = [score.reward for score in scores if score.reward is not None]
    return PromptResult(
        prompt_id=prompt.prompt_id,
        family=prompt.family,
        form=prompt.form,
        n=len(rewards),
        passes=sum(bool(score.passed) for score in scores if score.reward is not None),
        mean=sum(rewards) / len(rewards) if rewards else None,
        unscored=len(scores) - len(rewards),
        greedy=greedy.reward,
        greedy_passed=greedy.passed,
        part=part,
        difficulty=prompt.difficulty,
        problem_id=prompt.problem_id,
    )


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
    """Read what `main` wrote. Raises `LearnableError` when it is not there."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(
            f"evaluation {str(path)!r} cannot be read: {error.strerror}; run again with --resume"
        ) from error
    return Evaluation(
        policy_id=values["policy_id"],
        prompts=tuple(PromptResult(**prompt) for prompt in values["prompts"]),
        tokens=values["tokens"],
        seconds=values["seconds"],
        verifiers=values.get("verifiers", {}),
    )


class _Meter:
    """Counts rollouts and tokens and says so."""

    def __init__(self, total: int, emit: OnEvent) -> None:
        self.total, self.emit = total, emit
        self.done = self.tokens = 0

    def add(self, group: Sequence[Rollout]) -> None:
        self.done += len(group)
        self.tokens += sum(rollout.num_tokens for rollout in group)
        self.emit({"event": "rollouts", "done": self.done, "total": self.total, "tokens": self.tokens})


def _score(
    engine: Engine, pool: ScoringPool, requests: Sequence[GroupRequest], sampling: Sampling, meter: _Meter
) -> dict[str, list[Score]]:
    """Return the scores of each request's group by prompt id. A shared question is answered once."""
    prompts: dict[str, list[Prompt]] = {}
    for request in requests:
        prompts.setdefault(request.prompt.question_id, []).append(request.prompt)
    waiting = {}
    once = {request.prompt.question_id: request for request in requests}
    for group in engine.generate(once.values(), sampling):
        if isinstance(group, Refusal):
            prompt_id = group.request.prompt.prompt_id
            raise LearnableError(f"the engine refuses held-out prompt {prompt_id}: {group.reason}")
        for prompt in prompts[group[0].question_id]:
            waiting[prompt.prompt_id] = pool.submit([ScoreJob.of(prompt, rollout) for rollout in group])
        meter.add(group)
    return {prompt_id: scores.result() for prompt_id, scores in waiting.items()}


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
