"""Refreshes, policy ids and stopping rules against a truth that is known: checks of `benchmarks.truth`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.checks import Check, Figure, at_least, at_most, between
from benchmarks.decisions.sampling import BAND, draw_rates, sample
from benchmarks.decisions.simulated_refresh import SETTINGS, refresh
from learnable.data.storage.weights import hash_folder
from learnable.filters.arrays import Values
from learnable.filters.refresh.uncertainty import estimate_share_still_in_band
from learnable.filters.stopping import operating_point

REFRESHES = 20  # of each of ten settings
SEEDS, PROMPTS = 10, 20_000
POPULATIONS = (
    "beta:0.3,0.3",
    "beta:0.2,1",
    "mix:1.0=0.7,beta:1,1",
    "mix:0.0=0.3,1.0=0.3,beta:1,1",
    "mix:0.0=0.5,beta:0.5,1",
)
PRECISION_MARGIN_BEFORE, RECALL_MARGIN_BEFORE = 0.001, 0.006  # of version 0.1
MIB = 1 << 20


def share_still_in_band(seed: int) -> Iterator[Figure]:
    """Measure how often the 90 % interval of a refresh holds the true share, over 200 refreshes."""
    covered, errors = [], []
    for number in range(REFRESHES):
        for setting in SETTINGS:
            done = refresh(setting, seed * 1_000 + number)
            kept = done.before.filter("kept")
            found = estimate_share_still_in_band(done.before, done.after, done.drifts, kept, BAND)
            if found is not None:
                truth = float(done.now["truth"].to_numpy().mean())
                covered.append(found.low <= truth <= found.high)
                errors.append(found.share - truth)
    note = f"{len(covered)} refreshes, ten settings; .65 where prompts were taken for independent"
    yield between("90 % interval of the share still in the band holds it", float(np.mean(covered)), 0.84, 0.96, note)
    yield at_most("mean error of that share", abs(float(np.mean(errors))), 0.015)


def precision_over_mixtures(seed: int) -> Iterator[Figure]:
    """Measure precision and recall over fixed 32's on the same prompts, and rollouts, on five populations.

    What fixed 32 would keep is expected exactly, so that only our own rollouts are random. Rollouts are compared with
    those that the margins of version 0.1 take on the very rewards.
    """
    for population in POPULATIONS:
        rows = []
        for number in range(SEEDS):
            rng = np.random.default_rng([seed, number])
            rates = draw_rates(population, PROMPTS, rng)
            again = deepcopy(rng)
            ours, (precision, recall) = sample(rates, rng), _expect_fixed(rates, 32)
            with (
                patch.object(operating_point, "PRECISION_MARGIN", PRECISION_MARGIN_BEFORE),
                patch.object(operating_point, "RECALL_MARGIN", RECALL_MARGIN_BEFORE),
            ):
                before = sample(rates, again).rollouts_per_prompt
            rollouts = ours.rollouts_per_prompt
            rows.append((ours.precision - precision, ours.recall - recall, rollouts - before, rollouts))
        means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(SEEDS)
        for name, mean, error in zip(("precision", "recall"), means, errors, strict=False):
            yield at_least(f"{population}: {name} less fixed 32's", mean, -error, "bound: one standard error")
        note = f"{means[3]:.2f}; standard error of the difference {errors[2]:.3f}"
        yield at_most(f"{population}: rollouts a prompt over those of before", means[2], 0, note)


def policy_ids(seed: int) -> Iterator[Figure]:
    """Count the changes of nearly 6 % of a weight file of 64 MiB, in a row, that leave a policy's id as it was.

    Each lies between two blocks of 64 KiB, one in 4 MiB: a hash of 16 such blocks would miss it.
    """
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 256, 64 * MIB, dtype=np.uint8)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text("{}", encoding="utf-8")
        file, length, trials = Path(folder) / "model.safetensors", len(weights) * 6 // 100, 20
        file.write_bytes(weights.tobytes())
        now = hash_folder(Path(folder))
        for start in 4 * MIB * rng.integers(0, 15, trials) + (1 << 16):
            changed = weights.copy()
            changed[start : start + length] ^= 1
            file.write_bytes(changed.tobytes())
            missed += hash_folder(Path(folder)) == now
    yield at_most("changes of 6 % that leave the id", missed, 0, f"of {trials}")


def _expect_fixed(rates: Values, group_size: int) -> tuple[float, float]:
    """Return the precision and the recall that keeping means in the band has with these prompts, on average."""
    from scipy.stats import binom

    first, last = np.ceil(BAND.low * group_size - 1e-9), np.floor(BAND.high * group_size + 1e-9)
    keep: Values = np.subtract(binom.cdf(last, group_size, rates), binom.cdf(first - 1, group_size, rates))
    inside = (rates >= BAND.low) & (rates <= BAND.high)
    return float(keep[inside].sum() / keep.sum()), float(keep[inside].sum() / inside.sum())


CHECKS: tuple[Check, ...] = (share_still_in_band, precision_over_mixtures, policy_ids)
