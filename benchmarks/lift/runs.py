"""One run: a folder with its training report, and what its checkpoints are worth on the held-out prompts.

Held-out reward is measured during the run on checkpoints at equal distances, all in one process that starts once, with
the prompts of the whole pool. The policy before training is measured once a seed.
"""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.lift.arms import Arm, Plan
from benchmarks.lift.job import RUN_REPORT, train_job
from benchmarks.lift.pools import count_rollouts, count_tokens, find_by_rate, forget_certificates
from benchmarks.lift.refilled import FILE as GENERATED
from learnable.data.curated.curated_set import CuratedSet
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import Progress
from learnable.flows.training import stage
from learnable.flows.training.stage import run_training
from learnable.train.child import run_stage
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.results.comparison import list_measures
from learnable.train.results.evaluation import EvaluationSettings, PromptResult, read_evaluation
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import CHECKPOINTS, POLICY_FOLDER, read_step

FIRST_STEPS = 20  # over which the forecast is held against what is measured
GROUP_SIZE = 16  # of the evaluation
K = 8
COST, FAILED, HELD_OUT = "cost.json", "failed.txt", "held-out"
MEASURES = {"reward": "mean_reward", "greedy": "greedy_reward", "pass_at_8": "pass_at_k"}


@dataclass(frozen=True, slots=True)
class Look:
    """Held-out figures at a step, after so many generated tokens and seconds of training.

    `reward`, `greedy` and `pass_at_8` are of the pool's held-out prompts; `kept` and `rejected` are rewards of those
    that the curation kept or rejected. `completions` were generated, of `trained` tokens there was a gradient.
    """

    step: int
    tokens: float
    seconds: float
    reward: float
    greedy: float
    pass_at_8: float
    kept: float
    rejected: float
    completions: float = nan
    trained: float = nan


@dataclass(frozen=True, slots=True)
class Paid:
    """What was generated before training, of prompts that are trained on."""

    completions: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over; `looks` has none of one that failed.

    `alarms` are the monitor's, as (rule, severity); `cpu_seconds` are of training, all processes. `paid` is what the
    arm's own way to find prompts generated, and `measuring` the tokens of the evaluations before and after.
    """

    arm: str
    rate: float
    seed: int
    steps: int = 0
    batch_size: int = 0
    looks: tuple[Look, ...] = ()
    forecast_zero_std: float | None = None
    first_zero_std: float = nan
    whole_zero_std: float = nan
    alarms: tuple[tuple[str, str], ...] = ()
    cpu_seconds: float = nan
    paid: Paid = Paid()
    measuring: float = nan


def make_run_folder(root: Path, steps: int, arm: str, rate: float, seed: int) -> Path:
    """Return where a run is. `steps` are the baseline's, from which those of all arms follow."""
    return root / f"steps-{steps}" / arm / f"rate-{rate:g}" / f"seed-{seed}"


def is_over(folder: Path) -> bool:
    """Whether a folder has a run that failed, or a whole one: trained, measured, and its checkpoints gone."""
    is_whole = (folder / COST).is_file() and (folder / HELD_OUT).is_dir() and not (folder / CHECKPOINTS).exists()
    return is_whole or (folder / FAILED).is_file()


def perform(arm: Arm, plan: Plan, curated: CuratedSet, folder: Path, rate: float, seed: int, watcher: Progress) -> None:
    """Train and measure, in processes of their own. What was trained before is not trained again.

    Raises `LearnableError` as `run_training` and `run_stage` do. That training failed is noted in the folder.
    """
    settings = make_settings(arm, plan, curated, folder, rate, seed)
    if not (folder / COST).is_file():
        with note_cost(settings) as paid:
            if arm.finds == "job":
                paid += train_job(settings, curated, plan.looks)
            else:
                told = find_prompts(arm, curated, folder, paid)
                with use_trainer(arm):
                    run_training(replace(settings, curated=str(told.path)), watcher)
    measure_held_out(settings, curated, folder, find_start(folder, seed))
    shutil.rmtree(folder / POLICY_FOLDER, ignore_errors=True)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def find_prompts(arm: Arm, curated: CuratedSet, folder: Path, paid: list[int]) -> CuratedSet:
    """Return the set that an arm trains on; add to `paid` what finding it generated, if it is not the curated one."""
    if arm.is_blind:
        return forget_certificates(curated, find_pool(folder) / "blind")
    if arm.finds == "rate-8":
        found = find_by_rate(curated, find_pool(folder) / arm.finds)
        paid += (count_rollouts(found), count_tokens(found))
        return found
    return curated


@contextmanager
def use_trainer(arm: Arm) -> Iterator[None]:
    """Let training run the arm's own trainer, where it has one."""

    def start(module: str, *arguments: Any, **options: Any) -> None:
        run_stage("benchmarks.lift.refilled" if module.endswith(".grpo") else module, *arguments, **options)

    with patch.object(stage, "run_stage", start) if arm.refills else nullcontext():
        yield


@contextmanager
def note_cost(settings: TrainSettings) -> Iterator[list[int]]:
    """Train from the start, and note what it cost or why it failed; completions and tokens of finding are filled in."""
    shutil.rmtree(settings.folder, ignore_errors=True)
    before, paid = measure_cpu_seconds(), list[int]()
    try:
        yield paid
    except InterruptedRunError:
        raise
    except LearnableError as error:
        settings.folder.mkdir(parents=True, exist_ok=True)
        (settings.folder / FAILED).write_text(f"{error}\n", encoding="utf-8")
        raise
    cost = {"cpu_seconds": round(measure_cpu_seconds() - before, 2), "paid": asdict(Paid(*paid))}
    (settings.folder / COST).write_text(json.dumps(cost) + "\n", encoding="utf-8")


def make_settings(arm: Arm, plan: Plan, curated: CuratedSet, folder: Path, rate: float, seed: int) -> TrainSettings:
    """Return the settings of a run. It keeps the weights alone of the checkpoints that are measured afterwards."""
    return TrainSettings(
        curated=str(curated.path),
        output=str(folder),
        part=arm.part,
        sampler=arm.sampler,
        stored=arm.stored,
        predict="auto" if arm.predicts else "off",
        steps=plan.steps,
        batch_size=plan.batch_size,
        learning_rate=rate,
        seed=seed,
        evaluate=False,
        save_steps=max(1, -(-plan.steps // plan.looks)),
        trl={"save_total_limit": plan.looks + 1, "save_only_model": True},
    ).filled_from(curated.manifest)


def count_paid(found: CuratedSet) -> Paid:
    """Return what finding a set generated."""
    return Paid(count_rollouts(found), count_tokens(found))


def measure_cpu_seconds() -> float:
    """Return the CPU seconds of all processes that ended and that this one, or one of theirs, waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def find_start(folder: Path, seed: int) -> Path:
    """Return where the figures of the policy before training are kept: all arms of a pool share them."""
    return find_pool(folder) / "start" / f"seed-{seed}.json"


def find_pool(folder: Path) -> Path:
    """Return the folder of the pool that a run is of."""
    return folder.parents[3]


def measure_held_out(settings: TrainSettings, curated: CuratedSet, folder: Path, start: Path) -> None:
    """Measure the policy before training, the checkpoints and the trained policy, those that are not measured yet."""
    found = sorted((folder / CHECKPOINTS).glob("checkpoint-*"), key=read_step)
    policies = [(curated.manifest.policy.name, start)]
    policies += [(str(path), folder / HELD_OUT / f"{read_step(path)}.json") for path in found]
    if not found or read_step(found[-1]) < settings.steps:
        policies.append((str(folder / POLICY_FOLDER), folder / HELD_OUT / f"{settings.steps}.json"))
    missing = [(policy, output) for policy, output in policies if not output.is_file()]
    if not missing:
        return
    lists = [make_evaluation(settings, policy, output).as_json() for policy, output in missing]
    file = folder / "held-out-settings.json"
    file.write_text(json.dumps(lists, indent=2) + "\n", encoding="utf-8")
    for _, output in missing:
        output.parent.mkdir(parents=True, exist_ok=True)
    run_stage("benchmarks.lift.held_out", file, folder / "logs" / "held-out.log", lambda event: None)


def make_evaluation(settings: TrainSettings, policy: str, output: Path) -> EvaluationSettings:
    """Return the settings of one evaluation; the seed is the run's, so arms of a seed share their random numbers."""
    return EvaluationSettings(
        curated=settings.curated,
        policy=policy,
        sampling=settings.sampling,
        group_size=GROUP_SIZE,
        seed=settings.seed,
        limit=None,
        output=str(output),
        held_out="pool",
    )


def read_run(folder: Path, arm: str, rate: float, seed: int) -> Run:
    """Read a run that is over."""
    if (folder / FAILED).is_file():
        return Run(arm, rate, seed)
    report: dict[str, Any] = json.loads((folder / RUN_REPORT).read_text(encoding="utf-8"))
    records = [record for record in read_metrics(folder / "metrics.jsonl") if record.read("reward") is not None]
    batch, live = report["settings"]["batch_size"], report["settings"].get("sampler") == "live"
    files = sorted((folder / HELD_OUT).glob("*.json"), key=lambda path: int(path.stem))
    start = find_start(folder, seed)
    made = read_made(folder, records, batch)
    looks = [read_look(file, step, records, made) for file, step in [(start, 0), *((f, int(f.stem)) for f in files)]]
    cost = json.loads((folder / COST).read_text(encoding="utf-8"))
    forecast = report.get("foresight") or {}
    expected = average(records[:FIRST_STEPS], "expected_zero_std_share") if live else forecast.get("zero_std_share")
    return Run(
        arm=arm,
        rate=rate,
        seed=seed,
        steps=report["training"]["steps"],
        batch_size=batch,
        looks=tuple(looks),
        forecast_zero_std=expected,
        first_zero_std=average(records[:FIRST_STEPS], "zero_std_share"),
        whole_zero_std=average(records, "zero_std_share"),
        alarms=tuple((alarm["rule"], alarm["severity"]) for alarm in report.get("alarms", ())),
        cpu_seconds=cost["cpu_seconds"],
        paid=Paid(**cost.get("paid", {})),
        measuring=sum(read_evaluation(file).tokens for file in (start, files[-1])),
    )


def read_made(folder: Path, records: Sequence[StepRecord], batch_size: int) -> NDArray[np.float64]:
    """Return completions generated, tokens generated and tokens trained on, step by step: (steps, 3)."""
    rows = []
    for record in records:
        tokens, fresh = (record.read("completion_length") or 0.0) * batch_size, 1 - (record.read("stored_share") or 0.0)
        rows.append((fresh * batch_size, fresh * tokens, tokens))
    made = np.array(rows, dtype=np.float64).reshape(-1, 3)
    if (file := folder / GENERATED).is_file():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        made[:, 0] = [line["completions"] for line in lines]
        made[:, 1] = [line["tokens"] for line in lines]
    return made


def read_look(file: Path, step: int, records: Sequence[StepRecord], made: NDArray[np.float64]) -> Look:
    """Return what an evaluation found, with what training had taken by then; `made` is as `read_made` returns it."""
    prompts = read_evaluation(file).prompts
    so_far = [record for record in records if record.step <= step]
    completions, tokens, trained = made[: len(so_far)].sum(axis=0).tolist()
    return Look(
        step=step,
        tokens=tokens,
        completions=completions,
        trained=trained,
        seconds=sum(record.read("step_seconds") or 0.0 for record in so_far),
        kept=average_measure([one for one in prompts if one.part == "kept"], "mean_reward"),
        rejected=average_measure([one for one in prompts if one.part == "rejected"], "mean_reward"),
        **{name: average_measure(prompts, measure) for name, measure in MEASURES.items()},
    )


def average_measure(prompts: Sequence[PromptResult], measure: str) -> float:
    """Return the mean of a measure over prompts, those without it left out; NaN where none has it."""
    read = list_measures(K)[measure]
    values = np.array([read(one) for one in prompts], dtype=np.float64)
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def average(records: Sequence[StepRecord], name: str) -> float:
    """Return the mean of a metric over the records that have it; NaN where none has."""
    values = [value for record in records if (value := record.read(name)) is not None]
    return sum(values) / len(values) if values else float("nan")
