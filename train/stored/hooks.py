"""Stored rollouts on TRL's trainer: `StoredRollouts.attach(trainer, SET)`, before `trainer.train()`.

The first batches of a run are groups that its curation generated and scored. TRL tokenises their prompts and computes
advantages and the clipped ratio as ever; in place of what it would generate it gets the stored tokens, in place of a
verifier's answers the stored scores, and as old log-probabilities those of the policy that the run began with.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from learnable.data.band import Signal
from learnable.data.curated.curated_set import open_curated
from learnable.data.records import Sampling
from learnable.data.storage.places import PathOrUrl
from learnable.train.live.hooks import ROW, LearnabilitySampler
from learnable.train.ratios import watch_ratios
from learnable.train.rewards import STORED_SCORE
from learnable.train.stored.plan import StoredBatch, list_scores, read_batches, write_batches
from learnable.train.stored.sources import StoredSource, check_trainer, find_policy_id, find_sampler, read_sampling
from learnable.train.stored.start import has_start, measure_start, pad_start
from learnable.train.stored.step_ratios import MIN_ESS, StepRatios

if TYPE_CHECKING:
    from trl import GRPOTrainer

STALE, BEGUN = "stored_is_stale", "stored_is_begun"  # what is kept with the sampler's state


class StoredRollouts:
    """Gives a trainer stored groups for its first batches, until they are used up or stale.

    They are stale from the step on in which the effective sample size of their ratios falls below `min_ess`, as
    `StepRatios` measures it; what follows is generated. So is the batch that a checkpoint was written in the middle of,
    after a resume: no stored group is trained on twice.
    """

    def __init__(
        self, trainer: GRPOTrainer, sampler: LearnabilitySampler, source: StoredSource, min_ess: float
    ) -> None:
        """Take what draws the trainer's prompts, and what finds the groups where a run begins."""
        self.trainer: Any = trainer
        self.sampler, self.source, self.min_ess = sampler, source, min_ess
        self.batches: list[StoredBatch] = []
        self.is_stale = False
        self.number = 0  # of the batch that is made next, from 0
        self.begun: int | None = None  # the batch that a checkpoint was written in the middle of
        self.current: StoredBatch | None = None
        self.completions = pl.DataFrame()  # those of the current batch that this process has
        self.step = StepRatios()

    @classmethod
    def attach(
        cls,
        trainer: GRPOTrainer,
        curated: PathOrUrl,
        *,
        store: PathOrUrl | None = None,
        policy_id: str | None = None,
        sampling: Sampling | None = None,
        signal: Signal = "reward",
        min_ess: float = MIN_ESS,
    ) -> StoredRollouts:
        """Let a trainer begin with the stored rollouts of its prompts; call it before `trainer.train()`.

        Args:
            trainer: over prompts of a curated set, as `load_prompts` returns them, and with `verifier_reward` or
                `pass_reward`, which take the stored scores; other reward functions judge the stored completions.
            curated: the folder of the set or of one of its versions.
            store: the store, where the set does not lie in it.
            policy_id: whose rollouts; by default those of the folder or hub id that the trainer's model is from.
            sampling: how they were drawn; by default as the trainer draws.
            signal: what must vary in a group, rewards or passes.
            min_ess: the effective sample size, as a share, down to which groups are used.

        A `LearnabilitySampler` that is attached before draws the prompts; without one each prompt comes once a round.
        Raises `LearnableError` for a trainer that cannot be given stored groups, and where a set is not there; so does
        `trainer.train()` for a run that begins and a store that has none.
        """
        check_trainer(trainer)
        opened = open_curated(curated)
        source = StoredSource(
            curated=opened.path,
            store=store,
            policy_id=policy_id or find_policy_id(trainer),
            sampling=sampling or read_sampling(trainer, opened.manifest.sampling),
            signal=signal,
        )
        stored = cls(trainer, find_sampler(trainer), source, min_ess)
        stored._replace_methods()
        return stored

    def _replace_methods(self) -> None:
        trainer = self.trainer
        make_batch, generate = trainer._generate_and_score_completions, trainer._generate_single_turn

        def generate_and_score(inputs: Sequence[Mapping[str, Any]]) -> Any:
            if not trainer.model.training:
                return make_batch(inputs)
            self.current = self._next_batch()
            return make_batch(inputs) if self.current is None else self._make_stored(make_batch, inputs, self.current)

        def generate_single_turn(prompts: Sequence[Any], *rest: Any, **options: Any) -> Any:
            if self.current is None or not trainer.model.training:
                return generate(prompts, *rest, **options)
            return self.completions["token_ids"].to_list(), None

        trainer._generate_and_score_completions = generate_and_score
        trainer._generate_single_turn = generate_single_turn
        watch_ratios(trainer, self._note_ratios)
        self.sampler.order.draw = self.draw
        trainer.add_callback(_make_callback(self))

    def draw(self) -> list[int]:
        """Return the rows of the next batch: planned ones while there are stored groups, else the sampler's."""
        picker = self.sampler.order.picker
        if self.is_stale or picker.batches >= len(self.batches):
            return picker.draw()
        return picker.take(self.batches[picker.batches].rows)

    def _next_batch(self) -> StoredBatch | None:
        """Return the stored batch that is due, None where it is to be generated."""
        number, self.number = self.number, self.number + 1
        is_over = self.is_stale or number >= len(self.batches) or number == self.begun
        return None if is_over else self.batches[number]

    def _make_stored(self, make_batch: Any, inputs: Sequence[Mapping[str, Any]], batch: StoredBatch) -> Any:
        """Return what TRL makes of a stored batch, with the old log-probabilities of the policy of the start."""
        trainer, size = self.trainer, self.trainer.num_generations
        first = trainer.accelerator.process_index * len(inputs)
        self.completions = batch.take([(row[ROW], (first + number) % size) for number, row in enumerate(inputs)])
        scores = list_scores(self.completions)
        scored = [{**row, STORED_SCORE: score} for row, score in zip(inputs, scores, strict=True)]
        uses_vllm, trainer.use_vllm = trainer.use_vllm, False
        self.sampler.learns = False  # its certificates are of these very completions
        try:
            output = make_batch(scored)
        finally:
            trainer.use_vllm, self.sampler.learns = uses_vllm, True
        old = output["ref_per_token_logps"] if has_start(trainer) else pad_start(self.completions, output)
        output["old_per_token_logps"] = old.clone()
        if uses_vllm and trainer.vllm_importance_sampling_correction:  # no engine's numbers differ from the trainer's
            output["importance_sampling_ratio"] = old.new_ones(len(old), 1)
        return output

    def _note_ratios(self, log_ratios: Any, inputs: Mapping[str, Any]) -> None:
        if self.current is None:
            self.step.passes.append(False)
        else:
            self.step.add(self.trainer, log_ratios, inputs["completion_mask"].bool(), inputs["advantages"])

    def begin(self, folder: Path, steps: int, max_steps: int) -> None:
        """Plan the stored batches of a run that begins, or go on with those of a run that had taken so many `steps`.

        Raises `LearnableError` where there are none.
        """
        trainer, order = self.trainer, self.sampler.order
        if not steps:
            self._plan(folder, max_steps)
        self.batches = read_batches(folder)
        if not steps and not has_start(trainer):
            measure_start(trainer, self.batches, folder)
            self.batches = read_batches(folder)
        self.number = order.picker.batches - len(order.pending)
        self.is_stale = bool(self.sampler.notes.get(STALE))
        self.begun = self.number if self.sampler.notes.get(BEGUN) else None

    def _plan(self, folder: Path, max_steps: int) -> None:
        """Write the batches that so many steps can take; all processes wait for it."""
        trainer, layout = self.trainer, self.sampler.layout
        if trainer.is_world_process_zero():
            most = -(-max_steps * trainer.args.gradient_accumulation_steps // layout.repeats)
            write_batches(self.source.plan(trainer, self.sampler.order.picker, most), folder)
        trainer.accelerator.wait_for_everyone()

    def finish_step(self) -> None:
        """Log what the step showed, and see whether the stored groups are stale."""
        figures = dict(self.step.measure())
        self.step = StepRatios()
        for name, value in figures.items():
            self.trainer._metrics["train"][f"stored/{name}"].append(value)
        ess = figures.get("ratio_ess", 1.0)
        if not ess >= self.min_ess and not self.is_stale:
            self.is_stale = True
            left = max(0, len(self.batches) - self.number)
            warnings.warn(
                f"stored rollouts are stale: their effective sample size fell to {ess:.2f}, below {self.min_ess:g}; "
                f"the run goes on with fresh completions, and {left} stored batches are left",
                UserWarning,
                stacklevel=2,
            )
        sampler, arguments = self.sampler, self.trainer.args
        is_begun = sampler.steps * arguments.gradient_accumulation_steps % sampler.layout.repeats != 0
        sampler.notes = {STALE: self.is_stale, BEGUN: is_begun}


def _make_callback(stored: StoredRollouts) -> Any:
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            stored.begin(Path(args.output_dir), state.global_step, state.max_steps)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            stored.finish_step()

    return Callback()
