"""Does the monitor see what goes wrong in real training? Planted failures and healthy runs on TRL's trainer.

    python -m benchmarks.alarms [--seed N] [--only NAME] [--healthy N] [--json FILE] [--work FOLDER]

One set is curated with vLLM and the bundled policy; each planted run trains on rows of it in a way that must go wrong.
Each run trains in a process of its own, and a finished one is found again in `--work`, so that a stopped benchmark goes
on. The rules are applied to what a run logged, so other rules need no other runs. Ends with status 1 where a planted
failure raised none of its alarms within 10 steps of its onset, or a healthy run raised one.

The onset is told by what was logged, or by the plant:

    collapse      the first log at which the mean reward of the last 5 was under half of that of the first 3, or their
                  entropy under a quarter of it, or 1 nat over it, or the first look whose held-out reward was under
                  half of the first look's (a live sampler goes on to find prompts that are answered): no KL term, 30
                  times the usual rate
    fast collapse the same at 100 times the usual rate
    dead pool     step 1: every prompt was always or never solved by the policy
    silent part   step 1: a fifth of the reward is for thanks, which the policy never says
    over-fit      the first look at which training rewards since the last look had risen by .2 from those before the
                  first look, and held-out ones had not risen by half as much: 4 prompts, 10 times the usual rate
    forgetting    the first look at which mastered prompts earned .1 less than their certificates promise: comparisons
                  are trained with the wrong answer as the right one, and what comes up for review is comparisons that
                  were always solved

A healthy run has prompts enough to see hardly one of them twice in its 40 steps: small sets are learned by heart. None
trains on comparisons alone, which is not healthy: those of numbers far apart, solved before, are forgotten for those of
near ones.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.figures import make_parser, write_figures
from learnable.data.curated.curated_set import CuratedSet, open_curated, publish_curated
from learnable.data.progress import Silence
from learnable.data.records import content_id
from learnable.flows.training.stage import run_training
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.monitor.rules import read_rules
from learnable.train.monitor.watching import find_alarms
from learnable.train.results.report import TrainingSummary
from learnable.train.settings import PARTS, TrainSettings
from learnable.train.trainers.trainer import SUMMARY

FORGOTTEN = 0.1  # of 16 prompts with 16 completions each a look has a standard error of .02
IN_TIME = 10  # steps between an onset and its alarm
FAMILIES = ("arithmetic", "comparison", "counting")
HEALTHY = ((), ("arithmetic",), ("counting",), ("arithmetic", "counting"))  # families of the healthy runs, by turns
FIND = (*(f"--family={family}" for family in FAMILIES), "--limit=3000", "--max-tokens=16", "--no-prefect", "--quiet")
THANKFUL, CONTRARY = (f"benchmarks.planted_judges:judge_{name}" for name in ("thanks", "contrary"))
USUAL: Mapping[str, Any] = {
    "steps": 40, "eval_steps": 5, "evaluate": False, "save_steps": 1000, "verifiers": (THANKFUL, CONTRARY)
}  # fmt: skip
Onset = Callable[[Sequence[StepRecord]], int | None]


@dataclass(frozen=True, slots=True)
class Plant:
    """A failure: the settings that plant it, when it set in, and the rules of which one must ring."""

    settings: Mapping[str, Any]
    find_onset: Onset
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run showed. `onset` is None for a healthy run, and where a planted failure never set in."""

    name: str
    onset: int | None
    alarms: Mapping[str, int] = field(default_factory=dict)  # rule: step
    wanted: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def rung(self) -> str | None:
        """The first of the wanted alarms, if any rang."""
        return min((rule for rule in self.wanted if rule in self.alarms), key=self.alarms.__getitem__, default=None)

    @property
    def holds(self) -> bool:
        """Whether the right alarm was raised in time, or none in a healthy run."""
        if not self.wanted:
            return not self.alarms
        return self.onset is not None and self.rung is not None and abs(self.alarms[self.rung] - self.onset) <= IN_TIME


def find_collapse(records: Sequence[StepRecord]) -> int | None:
    """Return the step at which reward, held-out reward or entropy left its start."""
    looks = [(record.step, value) for record in records if (value := record.read("eval_reward")) is not None]
    found = [step for step, value in looks if value < looks[0][1] / 2][:1]
    if (step := find_drop_in_training(records)) is not None:
        found.append(step)
    return min(found, default=None)


def find_drop_in_training(records: Sequence[StepRecord]) -> int | None:
    """Return the step at which the training's own reward or entropy left its start."""
    logs = [record for record in records if record.read("reward") is not None]
    values = {name: [record.read(name) or 0.0 for record in logs] for name in ("reward", "entropy")}
    reward, entropy = (fmean(series[:3]) for series in values.values())
    for end in range(5, len(logs) + 1):
        now, width = (fmean(series[end - 5 : end]) for series in values.values())
        if now < reward / 2 or width < entropy / 4 or width > entropy + 1:
            return logs[end - 1].step
    return None


def find_over_fit(records: Sequence[StepRecord]) -> int | None:
    """Return the look from which training rewards leave held-out ones behind."""
    looks: list[tuple[int, float, float]] = []
    rewards: list[float] = []
    for record in records:
        held_out, reward = record.read("eval_reward"), record.read("reward")
        if reward is not None:
            rewards.append(reward)
        if held_out is not None:
            looks.append((record.step, fmean(rewards), held_out))
            rewards.clear()
    risen = ((step, trained - looks[0][1], held_out - looks[0][2]) for step, trained, held_out in looks)
    return next((step for step, trained, held_out in risen if trained > 0.2 and held_out < trained / 2), None)


def find_forgetting(records: Sequence[StepRecord]) -> int | None:
    """Return the first look at which mastered prompts earned less than their certificates promise, beyond chance."""
    looks = ((record.step, record.read("review_gain")) for record in records)
    return next((step for step, gain in looks if gain is not None and gain <= -FORGOTTEN), None)


def find_start(records: Sequence[StepRecord]) -> int | None:
    """Return the first step: what was planted is there from the start."""
    return records[0].step


COLLAPSE = frozenset({"collapse", "entropy", "entropy_rise", "reward_drop"})
PLANTS = {
    "collapse": Plant(
        {"no_kl": True, "learning_rate": 3e-3},
        find_collapse,
        COLLAPSE,
    ),
    "fast collapse": Plant({"no_kl": True, "learning_rate": 1e-2}, find_collapse, COLLAPSE),
    "dead pool": Plant({"steps": 15}, find_start, frozenset({"zero_std", "all_alike"})),
    "silent part": Plant({"steps": 15, "allow_silent_reward": True}, find_start, frozenset({"silent_component"})),
    "over-fit": Plant({"learning_rate": 1e-3, "beta": 1e-3}, find_over_fit, frozenset({"over_fit"})),
    "forgetting": Plant({"learning_rate": 3e-4, "beta": 1e-3}, find_forgetting, frozenset({"lost_skill"})),
}


def main() -> None:
    """Train what has not been trained yet, and report."""
    options = read_options()
    curated = find_prompts(options.work, options.seed)
    end = time.monotonic() + options.budget_minutes * 60
    outcomes, left_out = [], []
    for name, settings in list_runs(options, curated):
        if time.monotonic() > end and not is_finished(options.work, name, settings):
            left_out.append(name)
            continue
        outcomes.append(measure(name, train(options.work, name, settings)))
        print_outcome(outcomes[-1])
    print(
        f"{sum(one.holds for one in outcomes)} of {len(outcomes)} runs as they should be; not run: {left_out or 'none'}"
    )
    write_figures(options.json, {"runs": [asdict(one) | {"holds": one.holds} for one in outcomes], "not_run": left_out})
    if not all(one.holds for one in outcomes):
        sys.exit(1)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the prompts and of the first run")
    kinds = [*PLANTS, "healthy"]
    parser.add_argument("--only", action="append", choices=kinds, help="a planted failure, or the healthy; repeatable")
    parser.add_argument("--healthy", type=int, default=10, help="healthy runs (default: %(default)s)")
    parser.add_argument("--part", choices=PARTS, help="train on this part of a set (default: as learnable train does)")
    parser.add_argument("--work", type=Path, default=Path("runs/alarms"), help="folder of the sets and the runs")
    parser.add_argument("--budget-minutes", type=float, default=1e9, help="begin no run after so many minutes")
    return parser.parse_args()


def list_runs(options: argparse.Namespace, curated: CuratedSet) -> Iterator[tuple[str, TrainSettings]]:
    """Yield the wanted runs by their names."""
    for name, plant in PLANTS.items():
        if name in (options.only or PLANTS):
            rows = plant_rows(name, curated, options.work)
            yield name, make_settings(rows, options.seed, {"part": options.part, **plant.settings})
    if "healthy" in (options.only or ["healthy"]):
        for number in range(options.healthy):
            changes = {"part": options.part, "families": HEALTHY[number % len(HEALTHY)]}
            yield f"healthy {number + 1}", make_settings(curated, options.seed + number, changes)


def make_settings(curated: CuratedSet, seed: int, changes: Mapping[str, Any]) -> TrainSettings:
    """Return the settings of a run; its folder is not among them yet."""
    return TrainSettings(**{**USUAL, **changes, "curated": str(curated.path), "output": "", "seed": seed})


def find_prompts(work: Path, seed: int) -> CuratedSet:
    """Return the set that all runs train on; it is curated once for a seed."""
    store, name = work / "store", f"numbers-{seed}"
    if not (store / "curated" / name).is_dir():
        print("curating", flush=True)
        command = ["find", *FIND, f"--store={store}", f"--name={name}", f"--seed={seed}"]
        subprocess.run([sys.executable, "-m", "learnable", *command], check=True, stdout=subprocess.DEVNULL)
    return open_curated(str(store / "curated" / name))


def plant_rows(name: str, curated: CuratedSet, work: Path) -> CuratedSet:
    """Return the set that a planted run trains on: the curated one, or rows of it published as another."""
    trained, held_out = curated.read("train"), curated.read("test")
    rejects = trained.slice(0, 0)
    match name:
        case "dead pool":
            trained = pick(curated.read_rejected("train"), "pass_rate", (0.0, 1.0)).select(trained.column_names)
        case "silent part":
            sides = (pick(rows, "family", ("arithmetic",)) for rows in (trained, held_out))
            trained, held_out = (give_judge(rows, THANKFUL) for rows in sides)
        case "over-fit":
            trained = trained.slice(0, 4)
        case "forgetting":
            trained, held_out, rejects = (
                pick(rows, "family", ("comparison",)) for rows in (trained, held_out, curated.read_mastered("test"))
            )
            trained = give_judge(trained, CONTRARY)
        case _:
            return curated
    place = str(work / "store" / "curated" / f"{curated.path.parent.name}-{name.replace(' ', '-')}")
    return publish_curated(place, {"train": trained, "test": held_out, "rejects": rejects}, curated.manifest)


def pick(rows: pa.Table, column: str, values: Sequence[Any]) -> pa.Table:
    """Return the rows that have one of these values."""
    return rows.filter(pc.is_in(rows[column], pa.array(list(values))))


def give_judge(rows: pa.Table, judge: str) -> pa.Table:
    """Return the rows judged by another verifier."""
    names = pa.array([judge] * rows.num_rows, rows.schema.field("verifier").type)
    return rows.set_column(rows.column_names.index("verifier"), "verifier", names)


def find_folder(work: Path, name: str, settings: TrainSettings) -> Path:
    """Return the folder of a run: other settings have another one."""
    return work / "runs" / f"{name.replace(' ', '-')}-{content_id(settings.as_json())[:8]}"


def is_finished(work: Path, name: str, settings: TrainSettings) -> bool:
    """Whether a run ended earlier."""
    return (find_folder(work, name, settings) / "report.json").is_file()


def train(work: Path, name: str, settings: TrainSettings) -> Path:
    """Train, unless that was done earlier; return the run's folder."""
    folder = find_folder(work, name, settings)
    if not is_finished(work, name, settings):
        print(f"{name} ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        run_training(TrainSettings(**{**asdict(settings), "output": str(folder)}), Silence())
    return folder


def measure(name: str, folder: Path) -> Outcome:
    """Return what the rules of today say of a run."""
    records = read_metrics(folder / "metrics.jsonl")
    alarms: dict[str, int] = {}
    for alarm in find_alarms(read_rules(), records):
        alarms.setdefault(alarm.rule, alarm.step)
    plant = PLANTS.get(name)
    onset = plant.find_onset(records) if plant else None
    seconds = TrainingSummary.read(folder / SUMMARY).seconds
    return Outcome(name, onset, alarms, tuple(sorted(plant.wanted)) if plant else (), seconds)


def print_outcome(one: Outcome) -> None:
    """Print a line of the table."""
    rung = f"{one.rung} at {one.alarms[one.rung]}" if one.rung else "-"
    others = ", ".join(f"{rule} {step}" for rule, step in one.alarms.items() if rule != one.rung)
    print(
        f"{'holds ' if one.holds else 'FAILED'} {one.name:12} onset {one.onset or '-':>3}  {rung:24} "
        f"{one.seconds:5.0f} s  also: {others or 'none'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
