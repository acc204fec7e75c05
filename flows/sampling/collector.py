"""Takes rollouts from the engine, has them scored while the engine goes on, and sends both to the ledger."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import accumulate
from typing import Self, cast

import polars as pl

from learnable.data.ledger.ledger import STORED_COLUMNS, Draw
from learnable.data.records import Prompt, Rollout, Score
from learnable.data.store import Store
from learnable.flows.sampling.chunk_writer import ChunkWriter
from learnable.flows.sampling.error_watch import ErrorWatch
from learnable.rollouts.protocol import Answer, Refusal
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import find_verifier

Answered = tuple[Prompt, Rollout]  # what a verifier judges: a completion, as an answer to this prompt

ORDER = ("prompt_id", "rollout_index", "rollout_id")
BATCH_ROLLOUTS = 64  # scored at once: small, so that scoring ends soon after generation does

# As Arrow's maps become in polars.
COMPONENTS = pl.List(pl.Struct({"key": pl.String, "value": pl.Float64}))
SCORED: dict[str, pl.DataType | type[pl.DataType]] = {
    "prompt_id": pl.String,
    "rollout_id": pl.String,
    "rollout_index": pl.Int64,
    "num_tokens": pl.Int64,
    "reward": pl.Float64,
    "passed": pl.Boolean,
    "verdict": pl.String,
    "reason": pl.String,
    "components": COMPONENTS,
}


class Collector:
    """One run's rollouts and scores on their way into the ledger.

    Frames that it returns have the columns `SCORED`, one row for each rollout and prompt that it answers.
    """

    def __init__(
        self, draw: Draw, prompts: Sequence[Prompt], store: Store, pool: ScoringPool, watch: ErrorWatch
    ) -> None:
        self.draw = draw
        self.prompts = {prompt.prompt_id: prompt for prompt in prompts}
        self._prompts_of: dict[str, list[Prompt]] = {}  # by question: several may share one
        for prompt in prompts:
            self._prompts_of.setdefault(prompt.question_id, []).append(prompt)
        self.ledger = store.ledger
        self.pool = pool
        self.versions = {p.verifier: find_verifier(p.verifier).version for p in prompts}
        self.writer = ChunkWriter(store.ledger, draw, self.versions)
        self._settled: list[pl.DataFrame] = []
        self._frames: list[pl.DataFrame] = []
        self._watch = watch
        self._unscored: list[Answered] = []
        self._scoring: deque[tuple[list[Answered], Future[list[Score]]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Make durable what was taken, whatever ended the block."""
        self.writer.close()

    def take(self, answer: Answer) -> int:
        """Take what an engine yielded; return how many rollouts it was.

        Waits for the first score of each verifier: it may be broken, or hang, and the engine would go on drawing.
        Raises `LearnableError` for a verifier to be given up, and for rollouts that could not be written.
        """
        if isinstance(answer, Refusal):
            self._note_refusal(answer)
            return 0
        self.writer.add(answer)
        self._unscored.extend(
            (prompt, rollout) for rollout in answer for prompt in self._prompts_of[rollout.question_id]
        )
        self._submit_batches()
        for prompt in self._prompts_of[answer[0].question_id]:
            self._await_first_score(prompt.verifier)
        self._gather(lambda: self._scoring[0][1].done())
        return len(answer)

    def score_stored(self, stored: pl.DataFrame) -> None:
        """Take rollouts that are in the ledger, one row each; those without a current score are scored."""
        scores = self.ledger.find_scores(self.draw, stored, self.versions)
        columns = ["prompt_id", "rollout_id", "reward", "passed", "verdict", "reason", "components"]
        joined = stored.join(scores.select(columns), on=["prompt_id", "rollout_id"], how="left")
        unscored = pl.col("verdict").is_null()
        self._frames.append(joined.filter(~unscored).select([pl.col(name).cast(kind) for name, kind in SCORED.items()]))
        if (missing := joined.filter(unscored)).height:
            self._score_texts(missing)

    def settle(self) -> pl.DataFrame:
        """Wait for the scores of everything taken so far, and return one row for each rollout since the last call.

        Rows are in the order of their keys, not of their arrival, so that the same rollouts give bit-equal statistics.
        """
        self._submit(self._unscored)
        self._gather(lambda: True)
        empty = pl.DataFrame(schema=SCORED)
        self._settled.append(pl.concat([empty, *self._frames]).sort(ORDER))
        self._frames.clear()
        return self._settled[-1]

    def finish(self) -> pl.DataFrame:
        """Make the last scores durable, and return one row for each rollout of the run, in the order of their keys."""
        self.settle()
        self.writer.flush()
        return pl.concat(self._settled).sort(ORDER)

    def _score_texts(self, rollouts: pl.DataFrame) -> None:
        policy_id, sampling_id = self.draw.policy_id, self.draw.sampling.sampling_id
        keys = rollouts.select(name for name in STORED_COLUMNS if name != "completion_id").with_columns(
            rollouts["prompt_id"]
        )
        for texts in self.ledger.read_completions(self.draw, rollouts):
            for row in keys.join(texts, on="rollout_id", maintain_order="left").iter_rows(named=True):
                prompt, stored_id = self.prompts[row.pop("prompt_id")], row.pop("rollout_id")
                rollout = Rollout(**row, policy_id=policy_id, sampling_id=sampling_id, stored_id=stored_id)
                self._unscored.append((prompt, rollout))
            self._submit_batches()
            self._gather(lambda: self._scoring[0][1].done())

    def _note_refusal(self, refusal: Refusal) -> None:
        """Count the rollouts as missing for an engine error: they are not in the ledger, and never scored."""
        request = refusal.request
        score = Score.unscored(refusal.reason, "engine_error")
        indices = range(request.first_index, request.first_index + request.group_size)
        prompts = self._prompts_of[request.prompt.question_id]
        rows = [(prompt.prompt_id, "", index, 0, score) for prompt in prompts for index in indices]
        self._frames.append(_scored_frame(rows))
        self._watch.add([score] * request.group_size)

    def _await_first_score(self, verifier: str) -> None:
        if not self._watch.has_scored(verifier):
            self._submit(self._unscored)
            self._watch.await_score(verifier, [future for _, future in self._scoring])

    def _submit_batches(self) -> None:
        while len(self._unscored) >= BATCH_ROLLOUTS:
            self._submit(self._unscored[:BATCH_ROLLOUTS])

    def _submit(self, answered: list[Answered]) -> None:
        if answered:
            self._scoring.append((answered, self.pool.submit([ScoreJob.of(*pair) for pair in answered])))
        self._unscored = self._unscored[len(answered) :]

    def _gather(self, ready: Callable[[], bool]) -> None:
        while self._scoring and ready():
            answered, future = self._scoring.popleft()
            scores = future.result()
            rows = [(prompt, rollout, score) for (prompt, rollout), score in zip(answered, scores, strict=True)]
            self.writer.add_scores([(rollout, prompt, score) for prompt, rollout, score in rows])
            self._frames.append(
                _scored_frame(
                    [(p.prompt_id, r.rollout_id, r.rollout_index, r.num_tokens, score) for p, r, score in rows]
                )
            )
            self._watch.add(scores)


def _scored_frame(rows: Sequence[tuple[str, str, int, int, Score]]) -> pl.DataFrame:
    """Make a frame of prompt, rollout, index, tokens and score."""
    prompt_ids, rollout_ids, indices, tokens, scores = zip(*rows, strict=True)
    values = {
        "prompt_id": prompt_ids,
        "rollout_id": rollout_ids,
        "rollout_index": indices,
        "num_tokens": tokens,
        "reward": [score.reward for score in scores],
        "passed": [score.passed for score in scores],
        "verdict": [score.verdict for score in scores],
        "reason": [score.reason for score in scores],
        "components": _component_lists([score.components for score in scores]),
    }
    return pl.DataFrame(values, schema=SCORED)


def _component_lists(components: Sequence[Mapping[str, float]]) -> pl.Series:
    """Make a column of lists of key and value. Polars would make a frame of each mapping: a third of a run's time."""
    import pyarrow as pa

    offsets = list(accumulate(map(len, components), initial=0))
    keys = pa.array([key for each in components for key in each], pa.string())
    values = pa.array([value for each in components for value in each.values()], pa.float64())
    pairs = pa.StructArray.from_arrays([keys, values], names=["key", "value"])
    return cast("pl.Series", pl.from_arrow(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pairs)))
