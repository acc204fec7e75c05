"""The live sampler on TRL's trainer: `LearnabilitySampler.attach(trainer)`, before `trainer.train()`.

TRL has no hook for it, so methods of the trainer object are replaced: the one that makes the sampler, the one that
returns rewards, which are told to the sampler, and the one that takes extra columns, of which `passed` is read.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.filters.decisions.decide import UNASKED
from learnable.train.live.course import Course
from learnable.train.live.described import describe_rows
from learnable.train.live.predicted import PredictedRates
from learnable.train.live.rates import DRIFT, JEFFREYS, Certificates, PassRates
from learnable.train.live.sampler import STARVED, BatchLayout, LiveOrder, PromptPicker

if TYPE_CHECKING:
    from trl import GRPOTrainer

ROW = "live_row"  # the column that tells which row a completion answers
LIVE_COLUMNS = {"alpha", "beta", "p_zero", "p_one", "n", "n_eff", "pass_rate"}  # the columns
Predict = Literal["auto", "off"]
ARRAYS_FILE, NUMBERS_FILE = "live_sampler.npz", "live_sampler.json"
DRY_GROUPS = 32  # by which a pool is called dry: of 32 with a chance of .5, fewer than 8 have spread once in 1,000
PASSED_AT = 0.5  # the reward from which a completion counts as right, where the reward function logs no `passed`


class LiveSamplerWarning(UserWarning):
    """What the live sampler says of a run that goes on."""


class LearnabilitySampler:
    """Draws the prompts of a run by their expected usable share, and learns their rates from the run's own rewards.

    A completion is right where the reward function logs an extra column `passed` that says so, as `verifier_reward`
    does, or else where the sum of its rewards reaches `passed_at`. The state is kept in each checkpoint.

    Prompts without certificates are predicted from those that the run has asked, where `predict` is auto (`predicted`),
    and their drift is fitted unless one is given.
    """

    def __init__(
        self,
        trainer: GRPOTrainer,
        *,
        drift: float | None = None,
        passed_at: float = PASSED_AT,
        course: Course | None = None,
        is_even: bool = False,
        predict: Predict = "auto",
        stops_dry: bool = False,
    ) -> None:
        """Read the certificates of the trainer's prompts. Raises `LearnableError` as `attach` does."""
        self.trainer: Any = trainer
        self.passed_at = passed_at
        arguments = self.trainer.args
        self.layout = BatchLayout(
            prompts=arguments.generation_batch_size // self.trainer.num_generations,
            group_size=self.trainer.num_generations,
            repeats=self.trainer.num_iterations * arguments.steps_per_generation,
        )
        rates = make_rates(self.trainer.train_dataset, drift, predicts=predict == "auto" and not is_even)
        if course:
            course.steps_per_batch = self.layout.repeats / arguments.gradient_accumulation_steps
        self.order = LiveOrder(PromptPicker(rates, self.layout, arguments.seed, course=course, is_even=is_even))
        self.passed: list[bool | None] = []
        self.steps = 0  # of the optimizer since the run began or went on
        self.finished = 0  # batches since then
        self.told_starved = False
        self.stops_dry = stops_dry
        self.differing: list[bool] = []  # whether rewards differed, of the last groups that were generated
        self.learns = True  # from the batch that is scored; not from completions that its certificates know of
        self.resumed: Path | None = None  # the checkpoint within an epoch to go on from, until a step begins
        self.notes: JsonObject = {}  # what else is kept with the state

    @classmethod
    def attach(
        cls,
        trainer: GRPOTrainer,
        *,
        drift: float | None = None,
        passed_at: float = PASSED_AT,
        course: Course | None = None,
        is_even: bool = False,
        predict: Predict = "auto",
        stops_dry: bool = False,
    ) -> LearnabilitySampler:
        """Let a trainer draw its prompts by what they can teach; call it before `trainer.train()`.

        A `course` has it draw stage by stage, and with `is_even` all prompts of a stage alike. With `stops_dry` the run
        ends with a checkpoint where of the last `DRY_GROUPS` groups that it generated fewer than `STARVED` had spread.
        Raises `LearnableError` for a data set that is a stream, for fewer prompts than a batch takes, and where the
        installed TRL has not the methods that are replaced.
        """
        replaced = ("_get_train_sampler", "_calculate_rewards", "_log_completion_extra", "_log_metric")
        if missing := [name for name in replaced if not hasattr(trainer, name)]:
            raise LearnableError(f"the live sampler does not know this version of TRL: no {', '.join(missing)}")
        if not hasattr(trainer.train_dataset, "add_column"):
            raise LearnableError("the live sampler needs a data set with rows that can be counted, not a stream")
        sampler = cls(
            trainer,
            drift=drift,
            passed_at=passed_at,
            course=course,
            is_even=is_even,
            predict=predict,
            stops_dry=stops_dry,
        )
        if not is_even:
            sampler._warn_uncertified()
        sampler._replace_methods()
        return sampler

    def _replace_methods(self) -> None:
        trainer = self.trainer
        data = trainer.train_dataset
        trainer.train_dataset = data.add_column(ROW, list(range(len(data))))
        calculate, log_extra = trainer._calculate_rewards, trainer._log_completion_extra
        make_sampler = trainer._get_train_sampler

        def note_extra(column: str, values: Sequence[Any]) -> None:
            if column == "passed":
                self.passed = list(values)
            log_extra(column, values)

        def calculate_rewards(inputs: Sequence[Mapping[str, Any]], *rest: Any) -> Any:
            self.passed = []
            rewards = calculate(inputs, *rest)
            if trainer.model.training:
                self._take_in(inputs, rewards)
            return rewards

        def get_train_sampler(dataset: Any = None) -> Any:
            return self.order if dataset is None or dataset is trainer.train_dataset else make_sampler(dataset)

        trainer._log_completion_extra = note_extra
        trainer._calculate_rewards = calculate_rewards
        trainer._get_train_sampler = get_train_sampler
        trainer.args.ignore_data_skip = True  # what is pending is kept with the state, no replay finds it again
        trainer.learnability_sampler = self
        trainer.add_callback(_make_callback(self))

    def _take_in(self, inputs: Sequence[Mapping[str, Any]], rewards: Any) -> None:
        """Tell the picker what a batch's completions earned, on every process alike."""
        own = len(inputs)
        start = self.trainer.accelerator.process_index * own
        passed = self.passed or self._judge(rewards[start : start + own])
        rows, verdicts = self._gather([row[ROW] for row in inputs], passed)
        groups: dict[int, tuple[int, int]] = {}
        for row, verdict in zip(rows, verdicts, strict=True):
            passes, failures = groups.get(row, (0, 0))
            groups[row] = (passes + (verdict == 1), failures + (verdict == 0))
        self._log(groups)
        self._watch(rewards)
        self.order.picker.observe(groups if self.learns else {})
        if course := self.order.picker.course:
            for name, value in course.list_metrics():
                self.trainer._log_metric(f"sampler/{name}", value)

    def _watch(self, rewards: Any) -> None:
        """Note which groups differ in their rewards, (completions of all processes, functions), where they are new."""
        if not self.learns:
            return
        sums = rewards.nansum(dim=1).view(-1, self.layout.group_size)
        new = (sums.max(dim=1).values > sums.min(dim=1).values).tolist()
        self.differing = [*self.differing, *new][-max(DRY_GROUPS, len(new)) :]

    @property
    def is_dry(self) -> bool:
        """Whether the run is to end, since its prompts teach hardly anything any more.

        That is measured: what is expected of single prompts lags behind where all of them are learned at once.
        """
        groups = self.differing
        return self.stops_dry and len(groups) >= DRY_GROUPS and sum(groups) < STARVED * len(groups)

    def _judge(self, rewards: Any) -> list[bool | None]:
        """Return which completions reach `passed_at`, None for those without a reward. `rewards` is (n, functions)."""
        unscored = rewards.isnan().all(dim=1)
        sums = rewards.nansum(dim=1)
        return [None if no else bool(value >= self.passed_at) for no, value in zip(unscored, sums, strict=True)]

    def _gather(self, rows: Sequence[int], passed: Sequence[bool | None]) -> tuple[list[int], list[int]]:
        """Return rows and verdicts (1, 0, or -1 for none) of all processes, in their order."""
        import torch

        verdicts = [-1 if value is None else int(value) for value in passed]
        accelerator = self.trainer.accelerator
        pairs = torch.tensor([list(rows), verdicts], device=accelerator.device).T.contiguous()
        gathered = accelerator.gather(pairs)
        return gathered[:, 0].tolist(), gathered[:, 1].tolist()

    def _log(self, groups: Mapping[int, tuple[int, int]]) -> None:
        picker = self.order.picker
        usable = picker.rates.expect_usable(self.layout.group_size)[list(groups)]
        self.trainer._log_metric("sampler/expected_zero_std_share", float(1 - usable.mean()))
        self.trainer._log_metric("sampler/prompts_seen", float((picker.last_drawn >= 0).sum()))
        for name, value in picker.rates.list_metrics(list(groups)):
            self.trainer._log_metric(f"sampler/{name}", value)
        if not (picker.course or self.stops_dry or self.told_starved) and picker.is_starved(list(groups)):
            self.told_starved = True
            self._warn_starved(float(usable.mean()))

    def _warn_uncertified(self) -> None:
        """Say so where nothing is known of the prompts and the run is too short to find out.

        What a run learns of a prompt tells whether to draw it again. `benchmarks.lift` has an arm that shows it.
        """
        count, visits = self.order.picker.count, self._count_visits()
        if visits > count or not find_unknown(read_certificates(self.trainer.train_dataset)).all():
            return
        known = (
            "the live sampler predicts them from the text and columns of those it has drawn: where those tell nothing, "
            "and sampler/prediction_explains stays at 0, expect what plain GRPO gives"
            if isinstance(self.order.picker.rates, PredictedRates)
            else "the live sampler knows none before it is drawn: expect what plain GRPO gives"
        )
        warnings.warn(
            f"the {count} prompts have no certificates, and this run draws {visits} in all; {known}. Curate them with "
            "find-learnable, or train on fewer",
            LiveSamplerWarning,
            stacklevel=3,
        )

    def _count_visits(self) -> int:
        """Return how many prompts the whole run draws, each time counted."""
        arguments = self.trainer.args
        if arguments.max_steps <= 0:
            return int(arguments.num_train_epochs * self.order.picker.count)
        batches = arguments.max_steps * arguments.gradient_accumulation_steps // self.layout.repeats
        return int(batches * self.layout.prompts)

    def _warn_starved(self, usable: float) -> None:
        warnings.warn(
            f"the live sampler runs dry: {usable:.0%} of a batch's groups are expected to have any spread, though they "
            f"are the best of {self.order.picker.count} prompts. It goes on with them; train on more prompts, or "
            "curate again for the policy as it is now",
            LiveSamplerWarning,
            stacklevel=2,
        )

    def begin_step(self) -> None:
        """Set random generators as the checkpoint has them, in the first step of a run that goes on within an epoch.

        transformers did so before it made the iterator of batches, which draws a number. Between two epochs that draw
        is the one of a run that was never stopped, and stands.
        """
        if self.resumed:
            self.trainer._load_rng_state(str(self.resumed))
            self.resumed = None

    def finish_step(self) -> None:
        """Count a step of the optimizer, and the batches that end with it."""
        self.steps += 1
        batches = self.steps * self.trainer.args.gradient_accumulation_steps // self.layout.repeats
        while self.finished < batches:
            self.order.finish_batch()
            self.finished += 1

    def save(self, folder: Path) -> None:
        """Keep the state beside a checkpoint."""
        state = self.order.picker.get_state()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        np.savez(folder / ARRAYS_FILE, allow_pickle=False, **arrays)
        numbers = {name: value for name, value in state.items() if name not in arrays} | {"pending": self.order.pending}
        numbers |= {"notes": self.notes} if self.notes else {}
        numbers |= {"differing": self.differing} if self.stops_dry else {}
        numbers |= {"dry": True} if self.is_dry else {}
        partial = folder / f".{NUMBERS_FILE}.partial"
        partial.write_text(json.dumps(numbers), encoding="utf-8")
        partial.rename(folder / NUMBERS_FILE)

    def load(self, folder: Path) -> None:
        """Go on from a checkpoint. Raises `LearnableError` where it has no state, or one of other prompts."""
        if not (folder / NUMBERS_FILE).is_file():
            raise LearnableError(f"{folder}: no {NUMBERS_FILE}: the run that wrote this checkpoint had no live sampler")
        numbers = json.loads((folder / NUMBERS_FILE).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS_FILE) as arrays:
            self.order.picker.set_state({**numbers, **arrays})
        self.order.resume(numbers["pending"])
        self.notes = numbers.get("notes", {})
        self.differing = numbers.get("differing", [])


def is_dry(checkpoint: Path | None) -> bool:
    """Whether a run ended at this checkpoint because its prompts had run dry."""
    file = checkpoint and checkpoint / NUMBERS_FILE
    return bool(file and file.is_file() and json.loads(file.read_text(encoding="utf-8")).get("dry"))


def has_certificates(rows: Any) -> bool:
    """Whether a data set has the columns of certificates."""
    return set(rows.column_names) >= LIVE_COLUMNS


def read_certificates(rows: Any) -> Certificates:
    """Return what the columns of a curated set say of its prompts' pass rates; unknown where there are none.

    Rewards that are pass and fail have the certificate's posterior. Of graded ones that is a posterior of their mean,
    so the completions that passed are counted instead.
    """
    if not has_certificates(rows):
        return Certificates.unknown(len(rows))
    columns = {name: np.asarray(rows[name], float) for name in ("alpha", "beta", "p_zero", "p_one", "n", "pass_rate")}
    graded = np.asarray(rows["n_eff"], float) > columns["n"] * (1 + 1e-9)
    unknown = Certificates.unknown(len(rows))
    passes = np.nan_to_num(columns["n"] * columns["pass_rate"])
    return Certificates(
        alpha=np.where(graded, unknown.alpha + passes, columns["alpha"]),
        beta=np.where(graded, unknown.beta + np.nan_to_num(columns["n"]) - passes, columns["beta"]),
        p_zero=np.where(graded, 0.0, columns["p_zero"]),
        p_one=np.where(graded, 0.0, columns["p_one"]),
    )


def find_unknown(known: Certificates) -> NDArray[np.bool_]:
    """Return which prompts have no certificates, (n,): none at all, or one that says nothing."""
    says_nothing = (known.alpha == JEFFREYS) & (known.beta == JEFFREYS) & (known.p_zero == 0) & (known.p_one == 0)
    return np.asarray(says_nothing | ~np.isfinite(known.alpha + known.beta + known.p_zero + known.p_one))


def make_rates(rows: Any, drift: float | None, *, predicts: bool) -> PassRates:
    """Return what is known of a data set's prompts, and where some have no certificates what predicts those."""
    known, sampled = read_certificates(rows), find_sampled(rows) if predicts else {}
    unknown = np.ones(len(rows), bool) if sampled else find_unknown(known)
    walk = DRIFT if drift is None else drift
    if not predicts or not unknown.any():
        return PassRates.of(known, walk)
    blank = Certificates.unknown(len(unknown))
    filled = Certificates(*(np.where(unknown, getattr(blank, name), getattr(known, name)) for name in blank.__slots__))
    rates = PredictedRates(PassRates.of(filled, walk), unknown, describe_rows(rows), fits_drift=drift is None)
    rates.begin_with(sampled)
    return rates


def find_sampled(rows: Any) -> dict[int, tuple[int, int]]:
    """Return passes and failures of the prompts that a curation asked, by row, where the set has others too.

    These groups tell of those like them, so they count for more than their certificates. None at all of a set whose
    prompts were all asked, or rejected by a prediction.
    """
    if not {"decision", "n", "pass_rate"} <= set(rows.column_names) or UNASKED not in rows.unique("decision"):
        return {}
    groups = enumerate(zip(rows["n"], rows["pass_rate"], strict=True))
    return {row: (passes := round(n * rate), round(n) - passes) for row, (n, rate) in groups if n and rate is not None}


def _make_callback(sampler: LearnabilitySampler) -> Any:
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step:
                folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
                sampler.load(folder)
                sampler.resumed = folder if state.epoch % 1 else None

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            sampler.begin_step()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            sampler.finish_step()
            if sampler.is_dry and state.global_step < state.max_steps:
                control.should_save = control.should_training_stop = True

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                sampler.save(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Callback()
