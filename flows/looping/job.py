"""One job: from a pool of prompts and an empty store to a trained policy, in rounds of finding and training."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from learnable.data.curated.curated_set import POOL_PART, open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.ledger.ledger import Draw
from learnable.data.policies import find_policy
from learnable.data.progress import progress
from learnable.data.records import content_id
from learnable.data.storage.lock import hold_output
from learnable.data.store import Store
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import policy_for, stop_engines
from learnable.flows.looping.job_report import JobPlan, JobReport, JobRound
from learnable.flows.looping.pipeline import Stages
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.curation import BUILTIN_LIMIT
from learnable.train.live.hooks import make_rates
from learnable.train.live.predicted import PredictedRates
from learnable.train.live.sampler import STARVED, share_places
from learnable.train.preflight.bounds import check_numbers
from learnable.train.preflight.output import RUNS
from learnable.train.preflight.stored import explain_stored
from learnable.train.results.comparison import HeldOut, compare
from learnable.train.results.evaluation import evaluation_file, read_evaluation
from learnable.train.settings import FEWEST_PROMPTS, TrainSettings
from learnable.train.trainers.prompts import make_dataset

VISITS = 4  # groups of a prompt that a run trains on, before most of those prompts are learned: not tuned
ROLLOUTS_PER_KEPT = 30  # of finding a prompt without a prediction, in pools of which a third is in the band (RESULTS)
DEAR = 1.0  # of a run's completions; where finding takes more than that, it cannot pay
PILOT, PILOT_ROLLOUTS = 128, 4  # prompts of all families, and of each: enough to foretell number tasks (RESULTS)
LISTED, FEWEST_LISTED = 10, 10_000  # prompts that a run may draw from, for each of its groups, and in all
MIN_GAIN = 1.2  # groups with spread, times those of the pool, that drawing by the pilot is to bring: not tuned


def plan_job(curate: CurateSettings, train: TrainSettings) -> JobPlan:
    """Return what a job will look for and about what it takes, from its settings alone.

    A run of `steps` steps visits each prompt `VISITS` times, so it can use that many certificates and no more. Raises
    `LearnableError` for a method that does not train on completions of its own.
    """
    if train.method != "grpo":
        raise LearnableError(f"`method` {train.method} needs a curated set: give `curated`, and no `location`")
    groups = train.steps * train.prompts_per_step
    want = curate.budget.want or max(-(-groups // VISITS), train.prompts_per_step, FEWEST_PROMPTS)
    pilot = PILOT * PILOT_ROLLOUTS
    finding, training = pilot + want * ROLLOUTS_PER_KEPT, groups * train.num_generations
    advice = ""
    if finding > DEAR * training:
        advice = (
            f"finding {want:,} prompts one by one cannot pay: it takes about {finding:,} completions, and the run "
            f"itself {training:,}. Where a pilot of {pilot:,} foretells which prompts have spread, that is all that is "
            "paid for. Plain GRPO on the pool may do as well where it does not; more `steps` make looking pay"
        )
    return JobPlan(want, pilot, finding, training, advice, curate.sampling.max_tokens)


def plan_tokens(plan: JobPlan, curate: CurateSettings) -> JobPlan:
    """Return the plan with the tokens of a completion as the store's ledger has them, where it has some."""
    store, draw = Store(curate.store), Draw(policy_for(curate).policy_id, curate.sampling)
    length = store.open().ledger.measure_length(draw) if store.root.is_dir() else None
    return plan if length is None else replace(plan, tokens_each=length, is_bound=False)


def run_job(curate: CurateSettings, train: TrainSettings, stages: Stages | None = None) -> JobReport:
    """Find the prompts that a run can use, train on the rollouts that found them, then live; return the report.

    Where a pilot foretells which prompts have spread, that is all that is paid for finding them: the live sampler draws
    from the whole pool by what it has seen. Where it does not, prompts are found one by one, unless that cannot pay.
    Where they run dry before the last step, more prompts are found with the policy as it is then, and training goes on
    from that policy: round by round, until the steps are taken or finding more cannot pay. The job's folder, or
    `runs/NAME-job-ID`, has a folder a round, and held-out reward is measured on the first round's set. The same call
    again generates nothing; a job that was stopped goes on. Raises `LearnableError` for what cannot work, as its stages
    do, and where another process is at this job; `InterruptedRunError` after Ctrl-C.
    """
    check_numbers(train)
    plan = plan_job(curate, train)
    if plan.advice:
        progress().warn(plan.advice)
    if not train.output:
        described = {name: value for name, value in asdict(curate).items() if name != "report_to"}
        job = content_id(described, asdict(replace(train, report_to="none")))[:8]
        train = replace(train, output=str(RUNS / f"{curate.set_name}-job-{job}"))
    with hold_output(train.folder, "job"):
        report = _go_round(curate, train, JobReport(plan, ()), stages or Stages())
        report = replace(report, held_out=_compare(report))
        report.write(train.folder)
    return report


def _go_round(curate: CurateSettings, train: TrainSettings, report: JobReport, stages: Stages) -> JobReport:
    rounds: tuple[JobRound, ...] = ()
    end, plan = "", report.plan
    while not rounds or (rounds[-1].ran_dry and not end):
        try:
            rounds = (*rounds, _run_round(curate, train, plan, rounds, stages))
        except (InterruptedRunError, KeyboardInterrupt) as stop:
            raise InterruptedRunError(
                f"stopped in round {len(rounds) + 1}: what is done is kept; the same command goes on from there"
            ) from stop
        left = train.steps - sum(one.steps for one in rounds)
        if left > 0:
            plan = plan_job(curate, replace(train, steps=left))
            end = _find_end(rounds, left, plan, train)
    if end:
        progress().note(end)
    return replace(report, rounds=rounds, end=end)


def _find_end(rounds: tuple[JobRound, ...], left: int, plan: JobPlan, train: TrainSettings) -> str:
    """Return why no more prompts are looked for, though steps are left; empty where some are."""
    last, taken = rounds[-1], f"{train.steps - left} of {train.steps} steps were taken"
    if last.training is None:
        return (
            f"{taken}: for the policy as it is now the pool has {last.curation.totals.train} prompts to train on, and "
            f"a step takes {train.fewest_prompts}. It has learned what it can from this pool: give it another one"
        )
    if plan.advice and (last.gain is None or plan.pilot > plan.training):
        return f"{taken}, then the prompts ran dry. To find more for the {left} that are left: {plan.advice}"
    spent, trained = (cost.completions for cost in last.add_up()[0][:2])
    if last.number > 1 and spent > trained:
        return f"{taken}: the last round took {spent:,} completions to find prompts, and trained on {trained:,} more"
    return ""


def _run_round(
    curate: CurateSettings, train: TrainSettings, plan: JobPlan, rounds: tuple[JobRound, ...], stages: Stages
) -> JobRound:
    """Find prompts for the policy as it is now, and train on them."""
    number = len(rounds) + 1
    if rounds and (last := rounds[-1].training):
        left = train.steps - sum(one.steps for one in rounds)
        progress().note(f"round {number}: looking for {plan.want} more prompts, for the {left} steps that are left")
        curate = replace(curate, policy=last.trained_policy, name=f"{curate.set_name}-round-{number}")
        train = replace(train, policy=last.trained_policy, steps=left, measured_on=rounds[0].curation.curated)
    curation, gain, train = _find(curate, train, plan, stages)
    stop_engines()  # an engine and a trainer never share a machine's memory
    if rounds and gain is None and curation.totals.train < train.fewest_prompts:
        return JobRound(number, plan, curation)
    settings = replace(train, curated=curation.curated, output=str(train.folder / f"round-{number}"))
    return JobRound(number, plan, curation, stages.train(_settle(settings, is_pilot=gain is not None)), gain)


def _find(
    curate: CurateSettings, train: TrainSettings, plan: JobPlan, stages: Stages
) -> tuple[CurationReport, float | None, TrainSettings]:
    """Return what was found, what drawing from the whole pool gains where it is trained on, and how it is trained on.

    A pilot comes first, and where it foretells enough, or looking for more cannot pay, it is all.
    """
    groups = train.steps * train.prompts_per_step
    listed = max(groups, BUILTIN_LIMIT) if curate.prompts.is_generated else max(LISTED * groups, FEWEST_LISTED)
    pilot = replace(
        curate,
        name=f"{curate.set_name}-pilot",
        prompts=replace(curate.prompts, limit=curate.prompts.limit or listed),
        budget=replace(curate.budget, want=1, pilot_prompts=PILOT, pilot_rollouts=PILOT_ROLLOUTS, pilot_in_all=PILOT),
        keep_unasked=True,
    )
    report = stages.find(pilot)
    gain = measure_gain(report.curated, train.num_generations)
    if gain < MIN_GAIN and not plan.advice:
        progress().note(f"a pilot does not foretell which prompts have spread (gain {gain:.2f}): looking for them")
        return stages.find(replace(curate, budget=replace(curate.budget, want=plan.want))), None, train
    progress().note(
        f"drawing by a pilot is expected to bring {gain:.2f} times the groups with spread that the pool has"
        + ("" if gain >= MIN_GAIN else ", and looking for prompts cannot pay: as plain GRPO")
    )
    limit = train.eval_limit or 256  # of the pool's prompts, which are many more
    return report, gain, replace(train, held_out="pool", eval_limit=limit, part="pool", sampler="live")


def measure_gain(curated: str, group_size: int) -> float:
    """Return how many times the pool's share of groups with spread a live sampler expects of those that it draws.

    That is 1 where text and columns foretell nothing, and where the pool has hardly any to draw.
    """
    opened = open_curated(curated)
    rates = make_rates(make_dataset(opened, opened.read(POOL_PART)), None, predicts=True)
    if not isinstance(rates, PredictedRates) or not rates.foretells:
        return 1.0
    usable = rates.expect_usable(group_size)
    drawn = float(share_places(usable) @ usable)
    return drawn / float(usable.mean()) if drawn >= STARVED else 1.0


def _settle(train: TrainSettings, *, is_pilot: bool) -> TrainSettings:
    """Return the settings with stored groups first where there are enough; those of a run that was stopped go on.

    A LoRA adapter that is trained as it is ends merged into its base, which no round could go on with.
    """
    if not find_policy(train.policy).adapter:
        train = replace(train, on_dry="stop")
    if (train.folder / "settings.json").is_file():
        return replace(train, resume=True, stored="off")  # as it began
    curated = open_curated(train.curated)
    first = replace(train, stored="first").filled_from(curated.manifest)
    try:
        explain_stored(first, find_policy(first.policy), curated)
    except LearnableError as reason:
        if not is_pilot:  # whose groups are smaller than most runs'
            progress().note(f"begins with completions of its own: {reason}")
        return train
    return replace(train, stored="first")


def _compare(report: JobReport) -> HeldOut | None:
    """Return held-out reward before the first round and after the last, None where it was not measured."""
    first, settings = report.rounds[0].training, report.training.settings
    if first is None or not settings.evaluate:
        return None
    before, after = (
        read_evaluation(evaluation_file(Path(folder), name))
        for folder, name in ((first.settings.output, "before"), (settings.output, "after"))
    )
    return compare(before, after, k=settings.eval_k, group_size=settings.eval_group_size, seed=settings.seed)
