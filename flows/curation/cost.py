"""What a curation would cost: the pilot is sampled, the rest is forecast, and nothing is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from learnable.data.curated.record import to_plain
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.storage.speeds import find_speed
from learnable.filters.stopping.plan import Estimate, SamplingPlan
from learnable.filters.stopping.schedule import MIN_YIELD
from learnable.flows.curation.chat import render_first
from learnable.flows.curation.goal import is_endless
from learnable.flows.curation.steps import read_prompts
from learnable.flows.engines import policy_for
from learnable.flows.run import locked_store, start_run
from learnable.flows.sampling.sampler import open_sampling
from learnable.flows.settings import CurateSettings


@dataclass(frozen=True, slots=True)
class CostReport:
    """What a run would come to.

    `figures` are those of `prompts` (looked at), `kept`, `rollouts`, `tokens` (of completions), `seconds` and, where a
    price was given, `cost`; None where a figure is unknown. `chance` is that of reaching `want`. `spent_rollouts` are
    in the ledger already. `remarks` are sentences. `rendered_prompt` is one prompt as the policy sees it.
    """

    policy: str
    engine: str
    store: str
    want: int | None
    chance: float
    figures: Mapping[str, Estimate | None]
    spent_rollouts: int
    tokens_per_second: float | None
    remarks: tuple[str, ...]
    rendered_prompt: str = ""

    def to_json(self) -> JsonObject:
        """Return the report as `--json` prints it."""
        plain: JsonObject = to_plain(asdict(self))
        return {name: value for name, value in plain.items() if value or name != "rendered_prompt"}


def plan_curation(settings: CurateSettings, gpu_hour_price: float | None = None) -> CostReport:
    """Sample the pilot, and say what the whole run would come to.

    The pilot's rollouts stay in the ledger, so the run itself has them for nothing. With groups of one size nothing is
    sampled. Time and cost are those of what the ledger lacks, at the speed that was measured last in this store.
    `gpu_hour_price` is in any currency. Raises `LearnableError` for a price of nothing.
    """
    if gpu_hour_price is not None and gpu_hour_price <= 0:
        raise LearnableError(f"`gpu_hour_price` {gpu_hour_price:g} is no price: give more than 0, in any currency")
    with locked_store(settings) as store:
        run = start_run(settings, policy_for(settings), store)
        prompts = read_prompts(settings)
        pool = len(prompts.prompts)
        with open_sampling(run, prompts, endless=is_endless(settings, pool)) as sampling:
            plan = sampling.plan()
        speed = find_speed(store.root, run.policy.policy_id, settings.engine.name)
    per_second = speed.tokens_per_second if speed else None
    figures = _figures(plan, per_second, gpu_hour_price)
    digits = {"seconds": 1, "cost": 2}  # all else is counted
    return CostReport(
        policy=run.policy.policy_id,
        engine=settings.engine.name,
        store=settings.store,
        want=plan.want,
        chance=plan.chance,
        figures={name: figure and _rounded(figure, digits.get(name, 0)) for name, figure in figures.items()},
        spent_rollouts=plan.spent_rollouts,
        tokens_per_second=per_second,
        remarks=tuple(_remarks(plan, pool, per_second)),
        rendered_prompt=render_first(settings, run.policy, prompts.prompts),
    )


def _figures(plan: SamplingPlan, per_second: float | None, gpu_hour_price: float | None) -> dict[str, Estimate | None]:
    seconds = plan.tokens_ahead.times(1 / per_second) if plan.tokens_ahead and per_second else None
    figures = {
        "prompts": plan.prompts,
        "kept": plan.kept,
        "rollouts": plan.rollouts,
        "tokens": plan.tokens,
        "seconds": seconds,
    }
    if gpu_hour_price is not None:
        figures["cost"] = seconds and seconds.times(gpu_hour_price / 3600)
    return figures


def _rounded(estimate: Estimate, digits: int) -> Estimate:
    ends = (estimate.expected, estimate.low, estimate.high)
    return Estimate(*(None if value is None else round(value, digits or None) for value in ends))


def _remarks(plan: SamplingPlan, pool: int, per_second: float | None) -> list[str]:
    remarks = []
    if plan.spent_rollouts:
        remarks.append(
            f"{plan.spent_rollouts:,} of the rollouts are in the ledger by now: the run itself has them for nothing"
        )
    if plan.prompts.high is None:
        remarks.append(
            "there may be no end to the search: so little was kept that the run may give up, as it does below "
            f"1 in {1 / MIN_YIELD:.0f}"
        )
    elif plan.want is not None and plan.chance < 0.95:  # a higher one needs no mention
        remarks.append(
            f"the source holds {pool:,} prompts: the chance that {plan.want:,} of them are kept is {plan.chance:.0%}"
        )
    if plan.tokens_ahead is None:
        remarks.append("tokens, and so time and cost, are unknown: the ledger holds no completion of these prompts")
    elif per_second is None:
        remarks.append(
            "time and cost are unknown: no run has measured this policy's speed in this store yet; "
            "any that samples does"
        )
    return remarks
