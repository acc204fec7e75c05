"""What a job comes to: its plan, its rounds of finding and training, and what was paid for what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from learnable.data.plain_text import quote_markdown
from learnable.data.records import JsonObject
from learnable.data.storage.places import write_whole
from learnable.flows.curation.report import CurationReport, describe_outcome
from learnable.train.monitor.records import read_metrics
from learnable.train.results.comparison import HeldOut
from learnable.train.results.evaluation import evaluation_file, read_evaluation
from learnable.train.results.report import TrainingReport, without_nan

JOB = "job.json"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What a job is to come to before anything is paid: completions, and the prompts that are looked for.

    `finding` is about what these prompts take, the pilot's among them. Its completions are trained on first, so that
    `training` has both those and what is generated live. A completion has about `tokens_each` tokens, as those in the
    ledger have; where it has none of this policy that is the most it may have, and `is_bound` says so.
    """

    want: int
    pilot: int
    finding: int
    training: int
    advice: str
    tokens_each: float = 0.0
    is_bound: bool = True

    def to_json(self) -> JsonObject:
        """Return the plan as plain data, with the tokens of each part."""
        parts = {"pilot": self.pilot, "finding": self.finding, "training": self.training}
        tokens = {name: round(count * self.tokens_each) for name, count in parts.items()}
        return asdict(self) | {"tokens": tokens}


@dataclass(frozen=True, slots=True)
class Cost:
    """Completions that a part of a job generated, and their tokens; of both, what was generated in an earlier run."""

    what: str
    completions: int
    tokens: int


@dataclass(frozen=True, slots=True)
class JobRound:
    """One round: what was to be found, what was, and what training on it came to, None where it was too little.

    `gain` is how many times the pool's share of groups with spread was expected of those that are drawn by a pilot;
    None where prompts were found one by one.
    """

    number: int
    plan: JobPlan
    curation: CurationReport
    training: TrainingReport | None = None
    gain: float | None = None

    @property
    def steps(self) -> int:
        """Optimizer steps of this round."""
        return self.training.training.steps if self.training else 0

    @property
    def ran_dry(self) -> bool:
        """Whether training ended before its time, for want of prompts to learn from."""
        return self.training is not None and self.training.training.ran_dry

    def add_up(self) -> tuple[tuple[Cost, ...], int]:
        """Return what each part of the round generated, and the completions trained on that were there before."""
        later = f", round {self.number}" if self.number > 1 else ""
        totals = self.curation.totals
        costs = [Cost(f"finding prompts{later}", totals.rollouts, totals.tokens)]
        if self.training is None:
            return tuple(costs), 0
        trained, stored = _add_up_training(self.training, f"training{later}")
        held_out = _add_up_evaluations(self.training, ("after",) if later else ("before", "after"), later)
        return (*costs, trained, *held_out), stored

    def to_json(self) -> JsonObject:
        """Return the round in short."""
        trained = self.training
        return {
            "number": self.number,
            "want": self.plan.want,
            "curated": self.curation.curated,
            "kept": self.curation.totals.train,
            "gain": self.gain,
            "policy": trained.policy if trained else None,
            "trained_policy": trained.trained_policy if trained else None,
            "steps": self.steps,
            "ran_dry": self.ran_dry,
        }


@dataclass(frozen=True, slots=True)
class JobReport:
    """The rounds of a job, why it ended before its last step, if it did, and held-out reward from start to end."""

    plan: JobPlan
    rounds: tuple[JobRound, ...]
    end: str = ""
    held_out: HeldOut | None = None

    @property
    def curation(self) -> CurationReport:
        """What was found first."""
        return self.rounds[0].curation

    @property
    def training(self) -> TrainingReport:
        """The training that ended in the policy."""
        return next(one.training for one in reversed(self.rounds) if one.training)

    @property
    def paid(self) -> tuple[Cost, ...]:
        """What each part generated, round by round."""
        return tuple(cost for one in self.rounds for cost in one.add_up()[0])

    @property
    def stored(self) -> int:
        """Completions that were trained on without being generated for it."""
        return sum(one.add_up()[1] for one in self.rounds)

    def to_json(self) -> JsonObject:
        """Return the report as plain data."""
        plain: JsonObject = {
            "plan": self.plan.to_json(),
            "paid": [asdict(cost) for cost in self.paid],
            "stored_completions": self.stored,
            "curation": self.curation.to_json(),
            "training": self.training.to_json(),
            "rounds": [one.to_json() for one in self.rounds],
            "end": self.end,
            "held_out": asdict(self.held_out) if self.held_out else None,
        }
        return {name: without_nan(value) for name, value in plain.items()}

    def write(self, folder: Path) -> None:
        """Write `job.json`, whole or not at all. Raises `LearnableError` where it cannot be written."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        write_whole(folder / JOB, lambda file: file.write_text(text, encoding="utf-8"))


def describe_found(one: JobRound) -> str:
    """Return what a round found, or what its pilot foretells, in a sentence."""
    if one.gain is None:
        return describe_outcome(one.curation)
    totals = one.curation.totals
    pilot = f"A pilot of {totals.rollouts:,} rollouts, {totals.generated:,} of them new, {totals.tokens:,} tokens: "
    if one.gain > 1:
        return (
            f"{pilot}drawing by it from all {totals.prompts:,} prompts is expected to bring {one.gain:.2f} times the "
            "groups with spread that the pool has."
        )
    return f"{pilot}it does not foretell which prompts have spread, and looking for them one by one cannot pay."


def describe_rounds(rounds: Sequence[JobRound]) -> list[str]:
    """Return a sentence a round."""
    sentences = []
    for one in rounds:
        ended = f"trained {one.steps} steps" if one.training else "trained none"
        ended += ", until its prompts ran dry" if one.ran_dry else ""
        sentences.append(f"round {one.number}: {describe_found(one)} Then {ended}.")
    return sentences


def render_job(report: JobReport) -> str:
    """Return a job's report as Markdown."""
    rows = [f"| {cost.what} | {cost.completions:,} | {cost.tokens:,} |" for cost in report.paid]
    lines = [*map(quote_markdown, describe_rounds(report.rounds)), *filter(None, [report.end])]
    return "\n".join([*lines, "", "| paid for | completions | tokens |", "| --- | --- | --- |", *rows])


def _add_up_training(report: TrainingReport, what: str) -> tuple[Cost, int]:
    """Return what training generated, and the completions trained on that were there before."""
    size = report.settings.step_size
    stored, completions, tokens = 0.0, 0.0, 0.0
    for record in read_metrics(report.settings.folder / "metrics.jsonl"):
        if (length := record.read("completion_length")) is None:
            continue
        share = record.read("stored_share") or 0.0
        stored += share * size
        completions += (1 - share) * size
        tokens += (1 - share) * size * length
    return Cost(what, round(completions), round(tokens)), round(stored)


def _add_up_evaluations(report: TrainingReport, moments: Sequence[str], later: str) -> list[Cost]:
    """Return what held-out reward took. What is before a later round was measured after the one before it."""
    costs = []
    for name in moments:
        if (file := evaluation_file(report.settings.folder, name)).is_file():
            result = read_evaluation(file)
            made = len(result.prompts) * (report.settings.eval_group_size + 1)  # and a greedy one
            costs.append(Cost(f"held-out reward {name}{later}", made, result.tokens))
    return costs
