"""What a curation would cost: the pilot is sampled, the rest foreseen, and nothing published."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.storage.speeds import find_speed
from learnable.filters.stopping.plan import Estimate, Plan
from learnable.filters.stopping.schedule import MIN_YIELD
from learnable.flows.curation.steps import open_sampling, read_prompts
from learnable.flows.engines import policy_for
from learnable.flows.run import Run, new_run_id
from learnable.flows.settings import CurateSettings
from learnable.flows.stores import held_store

DIGITS = {"seconds": 1, "cost": 2}  # all else is counted
SURE = 0.95  # a chance that needs no mention


def plan_curation(settings: CurateSettings, gpu_hour_price: float | None = None) -> dict[str, Any]:
    """Sample the pilot, and say what the whole run would come to.

    The pilot's rollouts stay in the ledger, so the run itself has them for nothing. With groups of one size nothing is
    sampled. Time and cost are those of what the ledger lacks, at the speed that was measured last in this store.

    Returns:
        `figures`: for `prompts`, `kept`, `rollouts`, `tokens`, `seconds` and, with a price, `cost`, an `expected` value and
        the ends `low` and `high` of a 90 % interval, each None without a bound; or None in place of all three, where the
        figure is unknown. `chance` of reaching `want`, `spent_rollouts`, `tokens_per_second`, and `remarks`, sentences.
    """
    if gpu_hour_price is not None and gpu_hour_price <= 0:
        raise LearnableError(f"--gpu-hour-price {gpu_hour_price:g} is no price: give more than 0, in any currency")
    with held_store(settings) as store:
        run = Run(new_run_id(), settings, policy_for(settings), store)
        prompts = read_prompts(settings)
        with open_sampling(run, prompts) as sampling:
            plan = sampling.plan()
        speed = find_speed(store.root, run.policy.policy_id, settings.engine.name)
    per_second = speed.tokens_per_second if speed else None
    figures = _figures(plan, per_second, gpu_hour_price)
    return {
        "policy": run.policy.policy_id,
        "engine": settings.engine.name,
        "store": settings.store,
        "want": plan.want,
        "chance": plan.chance,
        "figures": {name: figure and _rounded(figure, DIGITS.get(name, 0)) for name, figure in figures.items()},
        "spent_rollouts": plan.spent_rollouts,
        "tokens_per_second": per_second,
        "remarks": _remarks(plan, len(prompts.prompts), per_second),
    }


def _figures(plan: Plan, per_second: float | None, gpu_hour_price: float | None) -> dict[str, Estimate | None]:
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


def _rounded(estimate: Estimate, digits: int) -> dict[str, float | None]:
    return {end: None if value is None else round(value, digits or None) for end, value in asdict(estimate).items()}


def _remarks(plan: Plan, pool: int, per_second: float | None) -> list[str]:
    remarks = []
    if plan.spent_rollouts:
        remarks.append(
            f"{plan.spent_rollouts:,} of the rollouts are in the ledger by now: the run itself has them for nothing"
        )
    if plan.prompts.high is None:
        remarks.append(
            f"there may be no end to the search: so little was kept that the run may give up, as it does below 1 in {1 / MIN_YIELD:.0f}"
        )
    elif plan.want is not None and plan.chance < SURE:
        remarks.append(
            f"the source holds {pool:,} prompts: the chance that {plan.want:,} of them are kept is {plan.chance:.0%}"
        )
    if plan.tokens_ahead is None:
        remarks.append("tokens, and so time and cost, are unknown: the ledger holds no completion of these prompts")
    elif per_second is None:
        remarks.append(
            "time and cost are unknown: no run has measured this policy's speed in this store yet; any that samples does"
        )
    return remarks
