"""Simulated courses of training: groups of completions, measured by the code that measures real ones.

A policy is a pass rate for each prompt, an entropy, and a way of writing. Each step draws groups of binary rewards and
of texts; `measure_groups`, `measure_gain` and the others of its module make the metrics of them, so that
their noise is that of real batches. What only a network has (KL, entropy, gradient) follows a course with noise as
logged in real runs of the bundled policy: entropy within a tenth or two of its course, the gradient's norm within a
third.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from learnable.data.records import Score
from learnable.train.measures import (
    measure_components,
    measure_gain,
    measure_groups,
    measure_memory,
    measure_texts,
)
from learnable.train.monitor.records import StepRecord

HELD_OUT = 32
WORDS = 60
CERTIFIED_BY = 12


@dataclass
class State:
    """The policy at a step. `pass_rates` is (prompts,), the last `HELD_OUT` of them held out; `certified` those that
    were expected before training, as from `CERTIFIED_BY` completions.
    """

    pass_rates: np.ndarray
    certified: np.ndarray
    entropy: float = 0.5
    kl: float = 0.001
    gradient: float = 1.0
    length: int = 8
    clipped: float = 0.0
    same_text: float = 0.0  # share of completions that are one and the same text, whatever the prompt
    loops: float = 0.0  # share of completions that say one word again and again
    parts: dict[str, float] = field(default_factory=lambda: {"format": 0.98})  # besides `correct`, which is the pass


Change = Callable[[State, int], None]  # what becomes of the policy at a step


@dataclass(frozen=True)
class SimulatedRun:
    """A course of `steps`. `change` is applied at each step; `learns` is how far logits of pass rates move in one."""

    change: Change = lambda state, step: None
    seed: int = 0
    steps: int = 80
    prompts: int = 200
    per_step: int = 8
    group_size: int = 16
    learns: float = 0.02
    entropy: float = 0.5
    length: int = 8
    dead: float = 0.0
    eval_steps: int = 5

    def list_records(self) -> list[StepRecord]:
        """Return the records of the run."""
        rng = np.random.default_rng(self.seed)
        rates = rng.uniform(0.2, 0.8, self.prompts + HELD_OUT)
        trained = np.arange(self.prompts)
        dead = rng.permutation(trained)[: round(self.dead * self.prompts)]
        rates[dead] = rng.integers(0, 2, dead.size)
        certified = (rng.binomial(CERTIFIED_BY, rates) + 1) / (CERTIFIED_BY + 2)
        state = State(rates, certified, entropy=self.entropy, length=self.length)
        mastered: set[str] = set()
        records = []
        for step in range(1, self.steps + 1):
            self._learn(state, rng)
            self.change(state, step)
            records.append(self._train(state, rng.choice(trained, self.per_step, replace=False), step, rng))
            if self.eval_steps and step % self.eval_steps == 0:
                records.append(self._look(state, step, mastered, rng))
        return records

    def _learn(self, state: State, rng: np.random.Generator) -> None:
        odds = (
            state.pass_rates
            / np.clip(1 - state.pass_rates, 1e-9, None)
            * np.exp(rng.normal(self.learns, 0.02, state.pass_rates.size))
        )
        live = (state.pass_rates > 0) & (state.pass_rates < 1)
        state.pass_rates[live] = (odds / (1 + odds))[live]
        state.entropy *= 1 - 0.2 * self.learns
        state.kl += 0.03 * self.learns

    def _train(self, state: State, rows: np.ndarray, step: int, rng: np.random.Generator) -> StepRecord:
        keys = [str(row) for row in np.repeat(rows, self.group_size)]
        scores = draw_scores(state, np.repeat(rows, self.group_size), rng)
        texts = draw_texts(state, np.repeat(rows, self.group_size), rng)
        shown = dict(measure_groups(keys, scores))
        shown |= measure_gain(
            keys, [score.reward for score in scores], np.repeat(state.certified[rows], self.group_size).tolist()
        )
        metrics: dict[str, float | None] = {
            "loss": 0.0,
            "reward": float(np.mean([score.reward for score in scores])),
            "frac_reward_zero_std": shown["zero_std_share"],
            "kl": state.kl * rng.lognormal(0, 0.3),
            "entropy": state.entropy * rng.lognormal(0, 0.15),
            "grad_norm": state.gradient * (1.02 - shown["zero_std_share"]) * rng.lognormal(0, 0.3),
            "completion_length": float(np.mean([len(text) for text in texts])),
            "clipped_ratio": float(rng.binomial(len(keys), state.clipped) / len(keys)),
            "clipped_tokens": abs(rng.normal(0, 0.01)),
            **shown,
            **dict(measure_texts(keys, texts)),
        }
        parts = measure_components(["v"] * len(keys), scores)
        return StepRecord(step, metrics, {name.removeprefix("component/"): value for name, value in parts})

    def _look(self, state: State, step: int, mastered: set[str], rng: np.random.Generator) -> StepRecord:
        rows = np.repeat(np.arange(self.prompts, self.prompts + HELD_OUT), self.group_size)
        scores = draw_scores(state, rows, rng)
        memory = dict(measure_memory([str(row) for row in rows], [score.passed for score in scores], mastered))
        metrics = {f"eval_{name}": value for name, value in memory.items()}
        return StepRecord(step, {"eval_reward": float(np.mean([score.reward for score in scores])), **metrics})


def draw_scores(state: State, rows: np.ndarray, rng: np.random.Generator) -> list[Score]:
    """Draw a score for each row. The one same text is right for one prompt in eight."""
    same = rng.random(rows.size) < state.same_text
    passed = np.where(same, rows % 8 == 0, rng.random(rows.size) < state.pass_rates[rows])
    parts = {name: rng.random(rows.size) < rate for name, rate in state.parts.items()}
    return [
        Score(float(ok), bool(ok), {"correct": float(ok), **{name: float(fired[at]) for name, fired in parts.items()}})
        for at, ok in enumerate(passed)
    ]


def draw_texts(state: State, rows: np.ndarray, rng: np.random.Generator) -> list[list[int]]:
    """Draw a text for each row, as numbers of words; entropy in nats says how many words there are to choose from."""
    choices = int(np.clip(10 * np.exp(state.entropy), 2, WORDS * 20))
    texts = []
    for row in rows:
        if rng.random() < state.same_text:
            texts.append(list(range(state.length)))
            continue
        length = max(1, int(rng.normal(state.length, state.length / 6)))
        text = (int(row) * 7 + rng.integers(0, choices, length)).tolist()
        texts.append([text[0]] * length if rng.random() < state.loops else text)
    return texts
