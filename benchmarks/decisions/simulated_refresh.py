"""A refresh with everything known: prompts whose true mean rewards move, sampled and decided as the pipeline does it.

The steps are those of `flows.refreshing` without files and engines: curate with the old policy, sample anchors with the
new one, fit the drift, move every certificate, sample again what may have changed sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit, logit

from learnable.data.band import Band
from learnable.filters.arrays import Indices, Values
from learnable.filters.posterior.certificate import FamilyPrior, assess
from learnable.filters.refresh.staleness import Drifts, choose_anchors, find_unsure, fit_drifts, move_certificates
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import Schedule

BAND = Band()
ROUNDS = 3  # as `flows.refreshing.resample.MAX_ROUNDS`
TRAINED_SHARE = 0.9  # of the kept prompts; the others are held out
NEAR = 1e-6


@dataclass(frozen=True, slots=True)
class Setting:
    """What is refreshed: the pool, the drift `log-odds(new) = shift + slope * log-odds(old) + noise * z`, the anchors.

    Old rates are Beta(`shapes`). `ess` is the effective sample size of one reward: 1 for pass and fail, more for graded
    ones, which are Beta distributed with the variance m (1 - m) / ess.
    """

    name: str
    prompts: int = 600
    families: int = 1
    shift: float = 0.8
    noise: float = 0.3
    slope: float = 1.0
    anchors: int = 60
    shapes: tuple[float, float] = (0.3, 0.3)
    ess: float = 1.0


SETTINGS = (
    Setting("no drift", shift=0.0, noise=0.0),
    Setting("usual"),
    Setting("large drift", shift=1.5, noise=0.8),
    Setting("backward, uneven", shift=-0.6, noise=0.5, slope=0.8),
    Setting("few anchors", anchors=25),
    Setting("many anchors, large pool", prompts=2_000, anchors=150),
    Setting("small pool", prompts=200, anchors=40),
    Setting("four families", prompts=800, families=4, anchors=100),
    Setting("graded", shapes=(1.0, 1.0), ess=4.0),
    Setting("graded, hard, large drift", shapes=(0.5, 1.5), shift=1.2, noise=0.6, ess=8.0),
)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh came to: certified rows of before, statistics of those sampled again, drifts, rows of now.

    `now` has one row for each prompt that the old set kept: `prompt_id`, `p_in_band`, and `truth`, whether its true
    mean is in the band under the new policy.
    """

    before: pl.DataFrame
    after: pl.DataFrame
    drifts: Drifts
    graded: dict[str, bool]
    now: pl.DataFrame


def refresh(setting: Setting, seed: int) -> Refreshed:
    """Curate and refresh once."""
    rng = np.random.default_rng(seed)
    old = np.clip(rng.beta(*setting.shapes, setting.prompts), NEAR, 1 - NEAR)
    new = expit(setting.shift + setting.slope * logit(old) + setting.noise * rng.normal(size=setting.prompts))
    families = [f"family {number % setting.families}" for number in range(setting.prompts)]
    ids = [f"{number:016x}" for number in rng.integers(0, 2**63, setting.prompts)]
    before, priors = _curate(ids, families, _draw(rng, old, setting), rng)
    kept = before.filter("kept")["prompt_id"]
    trained = pl.col("kept") & pl.Series(rng.random(setting.prompts) < TRAINED_SHARE)
    before = before.with_columns(trained=trained)
    graded = {name: prior.graded for name, prior in priors.items()}
    after, drifts = _resample(before, graded, dict(zip(ids, _draw(rng, new, setting), strict=True)), setting, rng)
    others = before.join(after, on="prompt_id", how="anti", maintain_order="left")
    moved = move_certificates(others, drifts, graded, BAND, 16)
    truth = pl.DataFrame({"prompt_id": ids, "truth": (new >= BAND.low) & (new <= BAND.high)})
    now = pl.concat([frame.select("prompt_id", "p_in_band") for frame in (after, moved)])
    return Refreshed(
        before, after, drifts, graded, now.filter(pl.col("prompt_id").is_in(kept)).join(truth, "prompt_id")
    )


def _resample(
    before: pl.DataFrame,
    graded: dict[str, bool],
    rewards: dict[str, Values],
    setting: Setting,
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, Drifts]:
    family_of = dict(zip(before["prompt_id"], before["family"], strict=True))
    names = choose_anchors(before, setting.anchors, BAND)
    retested = before.filter(~pl.col("kept") & (pl.Series(rng.random(before.height)) < SamplingBudget().retest))
    for _ in range(ROUNDS + 1):
        answers = np.array([rewards[name] for name in names])
        after, _ = _curate(names, [family_of[name] for name in names], answers, rng)
        drifts = fit_drifts(before, after)
        others = before.filter(~pl.col("prompt_id").is_in(names))
        unsure = find_unsure(others, move_certificates(others, drifts, graded, BAND, 16))
        fresh = [*unsure, *(name for name in retested["prompt_id"] if name not in {*names, *unsure})]
        if not fresh:
            break
        names = [*names, *fresh]
    return after, drifts


def _curate(
    ids: Sequence[str], families: Sequence[str], rewards: Values, rng: np.random.Generator
) -> tuple[pl.DataFrame, dict[str, FamilyPrior]]:
    """Sample prompts by the stopping rules, and return a certified row for each of them, and the families' priors."""
    schedule = Schedule(families, rng.random(len(ids)), BAND, SamplingBudget())
    schedule.rewards[:] = rewards[:, : schedule.rewards.shape[1]]
    round_ = schedule.request_pilot()
    while len(round_):
        round_ = schedule.request_next_round()
    everything: Indices = np.arange(len(ids))
    n, mean, variance = schedule.measure(everything)
    columns = {"n_eff": n, "mean": mean}
    for name in ("alpha", "beta", "p_zero", "p_one", "p_in_band", "p_min_std"):
        columns[name] = np.zeros(len(ids))
    for number, family in enumerate(schedule.names):
        mine = schedule.family == number
        found = assess(schedule.family_priors[str(family)], BAND, n[mine], mean[mine], variance[mine])
        posterior = found.belief.to_moments()
        figures = (found.n_eff, posterior.alpha, posterior.beta, posterior.zero, posterior.one)
        for name, values in zip(("n_eff", "alpha", "beta", "p_zero", "p_one"), figures, strict=True):
            columns[name][mine] = values
        columns["p_in_band"][mine], columns["p_min_std"][mine] = found.p_in_band, found.p_min_std
    rows = pl.DataFrame({"prompt_id": ids, "family": families, **columns})
    rows = rows.with_columns((pl.col("p_in_band") * pl.col("p_min_std")).alias("p_keep"))
    return rows.with_columns((pl.col("p_keep") >= schedule.find_thresholds()).alias("kept")), schedule.family_priors


def _draw(rng: np.random.Generator, means: Values, setting: Setting) -> Values:
    """Draw rewards, shape (prompts, rollouts)."""
    shape = (len(means), SamplingBudget().count_max_rollouts(16))
    if setting.ess <= 1:
        return (rng.random(shape) < means[:, None]).astype(np.float64)
    weight = setting.ess - 1
    drawn: Values = rng.beta(weight * means[:, None], weight * (1 - means[:, None]), shape)
    return drawn
