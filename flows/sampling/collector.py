"""Takes rollouts from the engine, has them scored while the engine goes on, and sends both to the ledger."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Self

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import STORED_COLUMNS, Draw, Ledger
from learnable.data.records import Prompt, Rollout, Score
from learnable.data.store import Store
from learnable.flows.sampling.chunk_writer import ChunkWriter
from learnable.flows.sampling.component_watch import ComponentWatch
from learnable.flows.sampling.error_watch import ErrorWatch
from learnable.flows.sampling.reward_table import Answered, RewardTable
from learnable.rollouts.protocol import Answer, Refusal
from learnable.verifiers.pool.jobs import write_messages
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import find_verifier

BATCH_ROLLOUTS = 64  # scored at once: small, so that scoring ends soon after generation does
MAX_SCORING = 128  # batches whose texts wait for their scores: beyond this the engine waits for the verifiers


class Collector:
    """One run's rollouts and scores on their way into the ledger; the table learns their rewards, and keeps no more."""

    def __init__(
        self,
        draw: Draw,
        table: RewardTable,
        store: Store,
        pool: ScoringPool,
        watch: ErrorWatch,
        named: set[tuple[str, str]] | None = None,
    ) -> None:
        self.draw = draw
        self.table = table
        self.ledger = store.ledger
        self.pool = pool
        self.versions = {name: find_verifier(name).version for name in table.prompts.verifiers}
        self.writer = ChunkWriter(store.ledger, draw, self.versions)
        # A method of this object would make a cycle, and what is set aside from garbage collection stays then.
        self.components = ComponentWatch(partial(read_text, store.ledger, draw), named)
        self._watch = watch
        self.reasoning_tokens = 0
        self._unscored: list[Answered] = []
        self._scoring: dict[Future[list[Score]], list[Answered]] = {}
        self._scored: SimpleQueue[Future[list[Score]]] = SimpleQueue()  # those of them that are done

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
        if not answer[0].ahead:
            self.table.need(answer[0].question_id, max(rollout.rollout_index for rollout in answer) + 1)
        self.reasoning_tokens += sum(rollout.reasoning_tokens for rollout in answer)
        prompts = self.table.prompts_of(answer[0].question_id)
        self._unscored.extend((prompt, rollout) for rollout in answer for prompt in prompts)
        self._submit_batches()
        for prompt in prompts:
            self._await_first_score(prompt.verifier)
        self._gather_done()
        return len(answer)

    def score_stored(self, stored: pl.DataFrame) -> None:
        """Take rollouts that are in the ledger, one row each; those without a current score are scored."""
        self.reasoning_tokens += int(stored.unique("rollout_id")["reasoning_tokens"].sum())
        scores = self.ledger.find_scores(self.draw, stored, self.versions)
        self.components.add_stored({name: self._prompt(name) for name in stored["prompt_id"].unique()}, scores)
        columns = ["prompt_id", "rollout_id", "reward", "passed", "verdict"]
        joined = stored.join(scores.select(columns), on=["prompt_id", "rollout_id"], how="left")
        unscored = pl.col("verdict").is_null()
        self.table.take_frame(joined.filter(~unscored))
        if (missing := joined.filter(unscored)).height:
            self._score_texts(missing)

    def settle(self) -> None:
        """Wait for the scores of everything taken so far."""
        self._submit(self._unscored)
        while self._scoring:
            self._gather(self._scored.get())

    @property
    def is_scoring(self) -> bool:
        """Whether scores are still to come."""
        return bool(self._scoring or self._unscored)

    def hurry(self, *, wait: bool = False) -> None:
        """Have all that was taken scored, and take the scores that are there; `wait` for some where any are to come."""
        self._submit(self._unscored)
        if wait and self._scoring:
            self._gather(self._scored.get())
        self._gather_done()

    def finish(self) -> None:
        """Make the last scores durable."""
        self.settle()
        self.writer.flush()

    def _score_texts(self, rollouts: pl.DataFrame) -> None:
        policy_id, sampling_id = self.draw.policy_id, self.draw.sampling.sampling_id
        keys = rollouts.select(name for name in STORED_COLUMNS if name != "completion_id").with_columns(
            rollouts["prompt_id"]
        )
        prompts = [self._prompt(name) for name in rollouts["prompt_id"].unique()]
        for texts in self.ledger.read_completions(self.draw, rollouts, prompts, reasoning=True):
            for row in keys.join(texts, on="rollout_id", maintain_order="left").iter_rows(named=True):
                prompt = self._prompt(row.pop("prompt_id"))
                del row["rollout_id"]  # which follows from the rest
                rollout = Rollout(**row, policy_id=policy_id, sampling_id=sampling_id)
                self._unscored.append((prompt, rollout))
            self._submit_batches()
            self._gather_done()

    def _prompt(self, prompt_id: str) -> Prompt:
        return self.table.find_prompt(prompt_id)

    def _note_refusal(self, refusal: Refusal) -> None:
        """Count the rollouts as missing for an engine error: they are not in the ledger, and never scored."""
        request = refusal.request
        indices = range(request.first_index, request.first_index + request.group_size)
        self.table.refuse(request.prompt.question_id, indices, refusal.reason)
        error = Score.unscored(refusal.reason, "engine_error")
        try:
            self._watch.add([(request.prompt.prompt_id, error)] * request.group_size)
        except LearnableError:
            self.table.check_answers()  # no spike among answers, where there are none
            raise

    def _await_first_score(self, verifier: str) -> None:
        if not self._watch.has_scored(verifier):
            self._submit(self._unscored)
            self._watch.await_score(verifier, list(self._scoring))

    def _submit_batches(self) -> None:
        while len(self._unscored) >= BATCH_ROLLOUTS:
            self._submit(self._unscored[:BATCH_ROLLOUTS])

    def _submit(self, answered: list[Answered]) -> None:
        if answered:
            future = self.pool.submit(_make_jobs(answered))
            self._scoring[future] = answered
            future.add_done_callback(self._scored.put)
        self._unscored = self._unscored[len(answered) :]

    def _gather_done(self) -> None:
        while self._scoring and (len(self._scoring) > MAX_SCORING or not self._scored.empty()):
            self._gather(self._scored.get())

    def _gather(self, future: Future[list[Score]]) -> None:
        answered, scores = self._scoring.pop(future), future.result()
        self.writer.add_scores(
            [(rollout, prompt, score) for (prompt, rollout), score in zip(answered, scores, strict=True)]
        )
        self.table.take(answered, scores)
        self._watch.add((prompt.prompt_id, score) for (prompt, _), score in zip(answered, scores, strict=True))
        self.components.add(answered, scores)


def read_text(ledger: Ledger, draw: Draw, prompt: Prompt, rollout_id: str) -> str:
    """Return the completion of a stored rollout; no text where the ledger lacks it."""
    wanted = pl.DataFrame({"rollout_id": [rollout_id]})
    tables = ledger.read_completions(draw, wanted, [prompt])
    return next((texts["completion"][0] for texts in tables if texts.height), "")


def _make_jobs(answered: list[Answered]) -> list[ScoreJob]:
    """Make the jobs of scoring these rollouts; one prompt's share its spec and its turns."""
    written: dict[str, tuple[str, str]] = {}
    jobs = []
    for prompt, rollout in answered:
        if prompt.prompt_id not in written:
            written[prompt.prompt_id] = (prompt.spec_json, write_messages(prompt))
        spec, turns = written[prompt.prompt_id]
        ended, tokens = rollout.judged_as, rollout.num_tokens
        jobs.append(ScoreJob(prompt.verifier, rollout.completion, prompt.text, spec, ended, turns, tokens))
    return jobs
