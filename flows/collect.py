"""Rollouts and their scores: generate what the store lacks, score while the engine goes on, keep every chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import polars as pl

from learnable.data.progress import progress
from learnable.data.records import Prompt, Rollout, Sampling, Score
from learnable.data.store import Store
from learnable.rollouts.protocol import Engine, GroupRequest
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.scoring import ScoreJob, ScoringPool

CHUNK_ROLLOUTS = 1024  # durable at once
BATCH_ROLLOUTS = 64  # scored at once: small, so that scoring ends soon after generation does

SCORED = {
    "prompt_id": pl.String,
    "rollout_id": pl.String,
    "rollout_index": pl.Int64,
    "num_tokens": pl.Int64,
    "reward": pl.Float64,
    "passed": pl.Boolean,
    "verdict": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, slots=True)
class Owed:
    """The rollouts of one prompt that the store lacks: `count` from index `first`."""

    prompt: Prompt
    first: int
    count: int


def find_owed(prompts: Sequence[Prompt], stored: pl.DataFrame, group_size: int) -> list[Owed]:
    """Return what is missing to give every prompt a group of `group_size`."""
    held = stored.filter(pl.col("rollout_index") < group_size).group_by("prompt_id").len()
    counts: Mapping[str, int] = dict(zip(held["prompt_id"], held["len"], strict=True))
    owed = ((prompt, counts.get(prompt.prompt_id, 0)) for prompt in prompts)
    return [Owed(prompt, first, group_size - first) for prompt, first in owed if first < group_size]


class Collection:
    """One run's rollouts and scores on their way into the store."""

    def __init__(self, run_id: str, prompts: Sequence[Prompt], store: Store, pool: ScoringPool) -> None:
        self.run_id = run_id
        self.prompts = {prompt.prompt_id: prompt for prompt in prompts}
        self.store = store
        self.pool = pool
        self.versions = {p.verifier: find_verifier(p.verifier).version for p in prompts}
        self.rows: list[dict[str, object]] = []
        self._unsaved: list[Rollout] = []
        self._unscored: list[Rollout] = []
        self._scoring: deque[tuple[list[Rollout], Future[list[Score]]]] = deque()

    def roll_out(self, engine: Engine, owed: Sequence[Owed], sampling: Sampling, seed: int) -> None:
        """Generate what is owed; each chunk is durable before more than a chunk follows it.

        When interrupted, the finished groups are kept and the interrupt goes on.
        """
        requests = (GroupRequest(o.prompt, o.count, first_index=o.first, seed=seed) for o in owed)
        total = sum(o.count for o in owed)
        try:
            for done, tokens, group in _counted(engine.generate(requests, sampling)):
                self._take(group)
                progress().rollouts(done, total, tokens)
        finally:
            self._save()
            self._submit(self._unscored)

    def score_stored(self, stored: pl.DataFrame) -> None:
        """Take rollouts that were in the store already; those without a current score are scored."""
        scores = self.store.find_scores(stored["rollout_id"], self.versions).select(
            "rollout_id", "verifier", "reward", "passed", "verdict", "reason"
        )
        verifier_of = {prompt_id: prompt.verifier for prompt_id, prompt in self.prompts.items()}
        keyed = stored.with_columns(
            pl.col("prompt_id").replace_strict(verifier_of, return_dtype=pl.String).alias("verifier")
        )
        joined = keyed.join(scores, on=["rollout_id", "verifier"], how="left")
        self.rows.extend(joined.filter(pl.col("verdict").is_not_null()).select(list(SCORED)).to_dicts())
        for row in joined.filter(pl.col("verdict").is_null()).select(stored.columns).iter_rows(named=True):
            row.pop("rollout_id")
            self._unscored.append(Rollout(**row))
            self._submit_batches()

    def finish(self) -> pl.DataFrame:
        """Wait for the last scores, make them durable, and return one row a rollout.

        Rows are in the order of their keys, not of their arrival, so that the same rollouts give bit-equal statistics.
        """
        self._submit(self._unscored)
        self._gather(lambda: bool(self._scoring))
        return pl.DataFrame(self.rows, schema=SCORED).sort("prompt_id", "rollout_index")

    def _take(self, group: list[Rollout]) -> None:
        self._unsaved.extend(group)
        self._unscored.extend(group)
        self._submit_batches()
        if len(self._unsaved) >= CHUNK_ROLLOUTS:
            self._save()
            self._gather(lambda: bool(self._scoring) and self._scoring[0][1].done())

    def _save(self) -> None:
        self.store.append_rollouts(self.run_id, self._unsaved)
        self._unsaved = []

    def _submit_batches(self) -> None:
        while len(self._unscored) >= BATCH_ROLLOUTS:
            self._submit(self._unscored[:BATCH_ROLLOUTS])

    def _submit(self, rollouts: list[Rollout]) -> None:
        if rollouts:
            self._scoring.append((rollouts, self.pool.submit([self._job(rollout) for rollout in rollouts])))
        self._unscored = self._unscored[len(rollouts) :]

    def _job(self, rollout: Rollout) -> ScoreJob:
        prompt = self.prompts[rollout.prompt_id]
        return ScoreJob(prompt.verifier, rollout.completion, prompt.text, prompt.spec_json, rollout.finish_reason)

    def _gather(self, wanted: Callable[[], bool]) -> None:
        scored: list[tuple[str, str, str, Score]] = []
        while wanted():
            rollouts, future = self._scoring.popleft()
            for rollout, score in zip(rollouts, future.result(), strict=True):
                verifier = self.prompts[rollout.prompt_id].verifier
                scored.append((rollout.rollout_id, verifier, self.versions[verifier], score))
                self.rows.append(_row(rollout, score))
        self.store.append_scores(self.run_id, scored)


def _counted(groups: Iterator[list[Rollout]]) -> Iterator[tuple[int, int, list[Rollout]]]:
    done = tokens = 0
    for group in groups:
        done += len(group)
        tokens += sum(rollout.num_tokens for rollout in group)
        yield done, tokens, group


def _row(rollout: Rollout, score: Score) -> dict[str, object]:
    return {
        "prompt_id": rollout.prompt_id,
        "rollout_id": rollout.rollout_id,
        "rollout_index": rollout.rollout_index,
        "num_tokens": rollout.num_tokens,
        "reward": score.reward,
        "passed": score.passed,
        "verdict": score.verdict,
        "reason": score.reason,
    }
