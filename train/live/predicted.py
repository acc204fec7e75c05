"""Pass rates of prompts without certificates: what a run sees of one prompt tells of those like it.

Until `FEWEST` groups are seen such prompts are as unknown as they ever were. From then on the log-odds of a prompt are
those that a regression on text and columns predicts, or the pool's mean where that foretells later groups no worse,
with a level that all share and that moves with the policy, and the prompt's own deviation (see `shared`). How far
prompts deviate and how fast both move is chosen by how well the run's own groups were foretold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, xlogy

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.filters.prediction.regression import (
    MAX_REGRESSION_GROUPS,
    MAX_WEIGHT,
    RATE_DIGITS,
    deal_folds,
    fit_logistic,
    predict,
)
from learnable.train.live.rates import DRIFT, LOG_ODDS, SHARED, Numbers, PassRates
from learnable.train.live.shared import (
    FIRST_DEVIATION,
    SCALES,
    History,
    Level,
    Replay,
    center,
    make_prior,
    rate_evidence,
    replay,
    take_in,
)

FEWEST = 24  # groups to begin with
MEMORIES = (1.0, 0.25)  # a group so far back, as a share of all groups, counts half
FORETOLD = 8  # groups, to choose a regression by how well it foretold them
ENOUGH = 100  # groups, of prompts seen before, to fit how fast they move; of any, how fast the level does
DRIFTS = (0.0, 0.01, 0.02, 0.035, 0.05, 0.075, DRIFT, 0.13, 0.17)
FORGETTINGS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2)  # standard deviations of the level's walk, a batch
STEP = 0.05  # log-odds, of the table that is read for prompts that nobody asked


@dataclass(slots=True)
class Shared:
    """What is fitted to the groups. `way` is the prediction that is used, 0 for the mean.

    `scale` is the standard deviation of prompts about it, `drift` and `forgetting` those of the walks of prompts and
    of the level in a batch; `explained` is the share of the deviance of foretold groups about the foretold mean.
    """

    way: int = 0
    scale: float = SCALES[-1]
    drift: float = DRIFT
    forgetting: float = 0.03  # one of `FORGETTINGS`
    level: float = 0.0
    variance: float = FIRST_DEVIATION**2
    told: int = 0  # groups in all
    fitted_to: int = 0
    batches: int = 0
    explained: float | None = None


class PredictedRates(PassRates):
    """Pass rates of which some prompts have no certificates: those `unknown`, (prompts,).

    Of these, once there is a fit, `weights` are the chances of a prompt's deviation from its `bases` and the level.
    `ways` are descriptions of all prompts by features, each (prompts, features). `guesses` are the log-odds of the mean
    rate that each prediction expects of each prompt, (predictions, prompts); `foretold` those that it had expected of
    each group in the history before it was told, NaN where there was no prediction yet.
    """

    is_predicted = True

    def __init__(
        self, start: PassRates, unknown: NDArray[np.bool_], ways: Sequence[csr_matrix], *, fits_drift: bool = True
    ) -> None:
        """Begin with what certificates say. A drift that the user gave is not fitted."""
        super().__init__(start.weights, start.drift)
        self.unknown, self.ways, self.fits_drift = unknown, ways, fits_drift
        self.shared = Shared(drift=start.drift)
        self.history = History.empty()
        predictions = 1 + len(ways) * len(MEMORIES)
        self.guesses = np.full((predictions, len(unknown)), np.nan, np.float32)
        self.foretold = np.empty((predictions, 0), np.float32)

    def begin_with(self, groups: Mapping[int, tuple[int, int]]) -> None:
        """Take in passes and failures of prompts that were asked before training, and fit what they tell.

        Each is foretold by those of other folds (cross-validation).
        """
        if not groups:
            return
        self._remember(groups)
        folds = deal_folds(len(groups))
        for fold in np.unique(folds):
            out = folds == fold
            self.foretold[:, out] = self._guess(self.history.pick(~out))[:, self.history.prompt[out]]
        self._fit()

    @property
    def is_fitted(self) -> bool:
        """Whether there were groups enough for a first fit."""
        return self.shared.fitted_to > 0

    @property
    def foretells(self) -> bool:
        """Whether a regression foretells groups better than their mean does."""
        return self.shared.way > 0

    @property
    def seen(self) -> NDArray[np.int64]:
        """The prompts without certificates of which a group was seen."""
        return np.unique(self.history.prompt)

    @property
    def centers(self) -> Numbers:
        """The log-odds about which prompts without certificates lie by now, of all prompts, (n,)."""
        guess = self.guesses[self.shared.way].astype(np.float64)
        return center(guess, self.shared.scale) + self.shared.level

    def observe_batch(self, groups: Mapping[int, tuple[int, int]]) -> None:
        """Take in the passes and failures of each prompt of a batch; the policy moves on."""
        own = {prompt: group for prompt, group in groups.items() if self.unknown[prompt] and sum(group)}
        if self.is_fitted:
            known = {prompt: group for prompt, group in groups.items() if not self.unknown[prompt]}
            self._take_in(own)
            self._remember(own)
        else:
            known = dict(groups)
            self._remember(own)
        super().observe_batch(known)
        self.shared.batches += 1
        if self.shared.told >= max(FEWEST, 1.25 * self.shared.fitted_to):  # a quarter more groups from fit to fit
            self._fit()

    def drift_on(self) -> None:
        """Take one step of the walk; prompts that nobody asked keep the deviations that prompts have."""
        if not self.is_fitted:
            super().drift_on()
            return
        for rows, drift in ((np.flatnonzero(~self.unknown), self.drift), (self.seen, self.shared.drift)):
            some = PassRates(self.weights[rows], drift)
            some.drift_on()
            self.weights[rows] = some.weights

    def expect(self, worth: Callable[[Numbers], Numbers]) -> Numbers:
        """Return what is expected of each prompt, where a rate is worth so much, (n,)."""
        values = super().expect(worth)
        if not self.is_fitted:
            return values
        centers, prior = self.centers, make_prior(self.shared.scale)
        ends = centers[self.unknown].min() - STEP, centers[self.unknown].max() + STEP
        table = np.arange(ends[0], ends[1] + STEP, STEP)
        of_table = worth(expit(table[:, None] + LOG_ODDS)) @ prior
        values[self.unknown] = np.interp(centers[self.unknown], table, of_table)
        seen = self.seen
        values[seen] = (self.weights[seen] * worth(expit(centers[seen, None] + LOG_ODDS))).sum(axis=1)
        return values

    def _take_in(self, groups: Mapping[int, tuple[int, int]]) -> None:
        """Move the level and the deviations of a batch's prompts."""
        if not groups:
            return
        shared, prompts = self.shared, np.array(sorted(groups))
        passes = np.array([groups[prompt][0] for prompt in prompts], np.float64)
        size = np.array([sum(groups[prompt]) for prompt in prompts], np.float64)
        level = Level(np.array([shared.level]), np.array([shared.variance]))
        bases = self.centers[prompts] - shared.level
        weights = self.weights[prompts].astype(np.float64)[None]
        posterior, _ = take_in(weights, bases, (passes, size), level, np.array([shared.forgetting]))
        self.weights[prompts] = posterior[0]
        shared.level, shared.variance = float(level.mean[0]), float(level.variance[0])

    def _remember(self, groups: Mapping[int, tuple[int, int]]) -> None:
        prompts = sorted(groups)
        counts = [groups[prompt] for prompt in prompts]
        self.foretold = np.concatenate([self.foretold, self.guesses[:, prompts]], axis=1)
        self.history = self.history.add(self.shared.batches, prompts, counts)
        self.foretold = self.foretold[:, -len(self.history.prompt) :]
        self.shared.told += len(prompts)

    def _fit(self) -> None:
        """Fit predictions to all groups, choose one of them, and go through the history with it anew."""
        shared, history = self.shared, self.history
        self.guesses = self._guess(history.cut(MAX_REGRESSION_GROUPS))
        shared.way, shared.scale = self._choose()
        shared.fitted_to = shared.told
        bases = center(self.guesses[shared.way], shared.scale)[history.prompt]
        prior = make_prior(shared.scale)

        def go_through(drifts: Sequence[float], forgettings: Sequence[float]) -> Replay:
            return replay(history, bases, prior, np.array(drifts), np.array(forgettings), shared.batches)

        if self.fits_drift and (~history.is_first).sum() >= ENOUGH:
            evidence = go_through(DRIFTS, [shared.forgetting] * len(DRIFTS)).evidence
            shared.drift = _average(DRIFTS, evidence[:, ~history.is_first])
        if len(history.prompt) >= ENOUGH:
            evidence = go_through([shared.drift] * len(FORGETTINGS), FORGETTINGS).evidence
            shared.forgetting = _average(FORGETTINGS, evidence)
        last = go_through([shared.drift], [shared.forgetting])
        self.weights[self.unknown] = prior
        self.weights[last.prompts] = last.beliefs[0]
        shared.level, shared.variance = float(last.level.mean[0]), float(last.level.variance[0])

    def _guess(self, history: History) -> NDArray[np.float32]:
        """Return what each of the predictions makes of these groups, as `guesses` are."""
        rates, many = history.passes / history.size, len(history.prompt)
        of_prompt = np.bincount(history.prompt, history.size)[history.prompt]
        weights = history.size * MAX_WEIGHT / (of_prompt + MAX_WEIGHT)
        ages = np.arange(many)[::-1] / many
        plain = csr_matrix((len(self.unknown), 0))
        tried = [(plain, MEMORIES[-1]), *((way, memory) for way in self.ways for memory in MEMORIES)]
        guesses = np.empty_like(self.guesses)
        for place, (features, memory) in enumerate(tried):
            faded = weights * 0.5 ** (ages / memory)
            coefficients = fit_logistic(features[history.prompt], rates, faded, ridge=2.0)
            guess = np.clip(predict(features, coefficients), 0.002, 0.998)
            guesses[place] = np.log(guess / (1 - guess))
        return guesses

    def _choose(self) -> tuple[int, float]:
        """Return the prediction to use and the scale of prompts about it, and note how well it foretold groups."""
        history, foretold = self.history, self.foretold
        judged = history.is_first & ~np.isnan(foretold[0])
        if judged.sum() < FORETOLD and self.is_fitted:
            return self.shared.way, self.shared.scale
        if judged.sum() < FORETOLD:
            mean = np.full(len(history.prompt), self.guesses[0, 0], np.float64)
            return 0, self._fit_scale(mean, history.passes, history.size)[0]
        passes, size = history.passes[judged], history.size[judged]
        tried = [self._fit_scale(guess.astype(np.float64), passes, size) for guess in foretold[:, judged]]
        best = max(range(len(tried)), key=lambda way: tried[way][1].sum())
        gains = tried[best][1] - tried[0][1]
        is_sure = gains.sum() > 2.0 * gains.std(ddof=1) * np.sqrt(len(gains))  # by two standard errors
        way = best if is_sure else 0
        of_mean, of_way = (_deviance(passes, size, expit(foretold[place, judged])) for place in (0, best))
        self.shared.explained = 1 - of_way / of_mean if of_mean > 0 else None
        return way, tried[way][0]

    def _fit_scale(self, guesses: Numbers, passes: Numbers, size: Numbers) -> tuple[float, Numbers]:
        """Return the scale about guesses by which groups are likeliest, and the logarithm of each group's chance."""
        tried = [rate_evidence(center(guesses, scale), passes, size, make_prior(scale)) for scale in SCALES]
        best = max(range(len(tried)), key=lambda place: tried[place].sum())
        return SCALES[best], tried[best]

    def list_metrics(self, prompts: Sequence[int]) -> list[tuple[str, float]]:
        """Return what is logged of a batch: the share of prompts that a regression predicts, how well, the drift."""
        if not self.is_fitted:
            return [("predicted_share", 0.0)]
        shared = self.shared
        share = float(self.unknown[list(prompts)].mean()) if shared.way else 0.0
        logged = [("predicted_share", share), ("fitted_drift", shared.drift)]
        return [*logged, ("prediction_explains", shared.explained)] if shared.explained is not None else logged

    def get_state(self) -> JsonObject:
        """Return all that is known, arrays and what JSON takes."""
        fitted = {SHARED: asdict(self.shared), "guesses": self.guesses.copy(), "foretold": self.foretold.copy()}
        history = {f"told_{field.name}": getattr(self.history, field.name) for field in fields(History)}
        return super().get_state() | fitted | history

    def set_state(self, state: JsonObject) -> None:
        """Go on from a state. Raises `LearnableError` for that of a run that predicted nothing."""
        if SHARED not in state:
            raise LearnableError(
                "the run that wrote this checkpoint predicted no pass rates: go on with predict='off' (`predict` off)"
            )
        self.weights = state["weights"].copy()
        self.shared = Shared(**state[SHARED])
        self.guesses, self.foretold = state["guesses"].copy(), state["foretold"].copy()
        self.history = History(*(state[f"told_{field.name}"].copy() for field in fields(History)))


def _average(values: Sequence[float], evidence: Numbers) -> float:
    """Return the mean of values that are as likely as the groups are under each; evidence is (values, groups)."""
    total = evidence.sum(axis=1)
    chances = np.exp(total - total.max())
    return float(np.round(chances @ np.array(values) / chances.sum(), RATE_DIGITS))


def _deviance(passes: Numbers, size: Numbers, rates: Numbers) -> float:
    """Return the deviance of groups from predicted rates."""
    failures = size - passes
    perfect = xlogy(passes, passes / size) + xlogy(failures, failures / size)
    return float(2 * (perfect - passes * np.log(rates) - failures * np.log1p(-rates)).sum())
