"""One job: from a pool of prompts and an empty store to a trained policy, and what was paid for what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.data.progress import progress
from learnable.data.records import JsonObject, content_id
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import stop_engines
from learnable.flows.launch import run_curation, run_training
from learnable.flows.settings import CurateSettings
from learnable.train.monitor.records import read_metrics
from learnable.train.preflight.checks import check_numbers
from learnable.train.preflight.output import RUNS
from learnable.train.preflight.stored import explain_stored
from learnable.train.results.evaluation import read_evaluation
from learnable.train.results.report import TrainingReport
from learnable.train.results.reuse import evaluation_file
from learnable.train.settings import FEWEST_PROMPTS, TrainSettings

VISITS = 4  # groups of a prompt that a run trains on, before most of those prompts are learned: not tuned
ROLLOUTS_PER_KEPT = 30  # of finding a prompt without a prediction, in pools of which a third is in the band (RESULTS)
DEAR = 1.0  # of a run's completions; where finding takes more than that, it is said


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What a job is to come to before anything is paid: completions, and the prompts that are looked for.

    `finding` is about what these prompts take, the pilot's among them. Its completions are trained on first, so that
    `training` has both those and what is generated live.
    """

    want: int
    pilot: int
    finding: int
    training: int
    advice: str

    def to_json(self) -> JsonObject:
        """Return the plan as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cost:
    """Completions that a part of a job generated, and their tokens; of both, what was generated in an earlier run."""

    what: str
    completions: int
    tokens: int


@dataclass(frozen=True, slots=True)
class JobReport:
    """The two reports of a job, and what was paid for what. `stored` are completions trained on that were there."""

    plan: JobPlan
    curation: CurationReport
    training: TrainingReport
    paid: tuple[Cost, ...]
    stored: int

    def to_json(self) -> JsonObject:
        """Return the report as plain data."""
        return {
            "plan": self.plan.to_json(),
            "paid": [asdict(cost) for cost in self.paid],
            "stored_completions": self.stored,
            "curation": self.curation.to_json(),
            "training": self.training.to_json(),
        }


def plan_job(curate: CurateSettings, train: TrainSettings) -> JobPlan:
    """Return what a job will look for and about what it takes, from its settings alone.

    A run of `steps` steps visits each prompt `VISITS` times, so it can use that many certificates and no more. Raises
    `LearnableError` for a method that does not train on completions of its own.
    """
    if train.method != "grpo":
        raise LearnableError(f"--method {train.method} needs a curated set: give --curated, and no --pool")
    groups = train.steps * train.prompts_per_step
    want = curate.budget.want or max(-(-groups // VISITS), train.prompts_per_step, FEWEST_PROMPTS)
    families = max(len(curate.prompts.families), 1)  # of a file it is not known yet
    pilot = families * curate.budget.pilot_prompts * curate.budget.pilot_rollouts
    finding, training = pilot + want * ROLLOUTS_PER_KEPT, groups * train.num_generations
    advice = ""
    if finding > DEAR * training:
        advice = (
            f"finding {want:,} prompts takes about {finding:,} completions, and the run itself {training:,}: so short "
            "a run is hardly worth it. Plain GRPO on the pool may do as well; more --steps make it pay"
        )
    return JobPlan(want, pilot, finding, training, advice)


def run_job(curate: CurateSettings, train: TrainSettings, *, use_prefect: bool = False) -> JobReport:
    """Find the prompts that a run can use, train on the rollouts that found them, then live; return the report.

    The same call again generates nothing: rollouts are in the ledger, the run in its folder, `runs/NAME-job-ID`. A run
    that was stopped goes on. Raises `LearnableError` for what cannot work, as its stages do.
    """
    check_numbers(train)
    plan = plan_job(curate, train)
    if plan.advice:
        progress().warn(plan.advice)
    found = run_curation(replace(curate, budget=replace(curate.budget, want=plan.want)), use_prefect=use_prefect)
    stop_engines()  # an engine and a trainer never share a machine's memory
    report = run_training(_settle(replace(train, curated=found.curated), curate), use_prefect=use_prefect)
    paid, stored = _add_up(found, report)
    return JobReport(plan, found, report, paid, stored)


def _settle(train: TrainSettings, curate: CurateSettings) -> TrainSettings:
    """Return the settings with a folder that is the job's own, and with stored groups first where there are enough."""
    if not train.output:
        job = content_id(asdict(curate), asdict(replace(train, curated="")))[:8]
        train = replace(train, output=str(RUNS / f"{Path(train.curated).parent.name}-job-{job}"))
    if (train.folder / "settings.json").is_file():
        return replace(train, resume=True, stored="off")  # as it began
    curated = open_curated(train.curated)
    first = replace(train, stored="first").filled_from(curated.manifest)
    try:
        explain_stored(first, find_policy(first.policy), curated)
    except LearnableError as reason:
        progress().note(f"begins with completions of its own: {reason}")
        return train
    return replace(train, stored="first")


def _add_up(found: CurationReport, report: TrainingReport) -> tuple[tuple[Cost, ...], int]:
    """Return what each part of a job generated, and the completions that were trained on without being generated."""
    settings, folder = report.settings, report.settings.folder
    costs, stored, completions, tokens = [], 0.0, 0.0, 0.0
    for record in read_metrics(folder / "metrics.jsonl"):
        if (length := record.read("completion_length")) is None:
            continue
        share = record.read("stored_share") or 0.0
        stored += share * settings.step_size
        completions += (1 - share) * settings.step_size
        tokens += (1 - share) * settings.step_size * length
    costs.append(Cost("finding prompts", found.totals.rollouts, found.totals.tokens))
    costs.append(Cost("training", round(completions), round(tokens)))
    for name in ("before", "after"):
        if (file := evaluation_file(folder, name)).is_file():
            result = read_evaluation(file)
            made = len(result.prompts) * (settings.eval_group_size + 1)  # and a greedy one
            costs.append(Cost(f"held-out reward {name}", made, result.tokens))
    return tuple(costs), round(stored)
