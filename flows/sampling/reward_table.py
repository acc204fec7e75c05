"""What a run keeps of each rollout while it goes on: that it is there, and its reward, in two bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from learnable.data.errors import NothingAnsweredError, shorten_reason
from learnable.data.plain_text import whole_characters
from learnable.data.records import REWARDED_VERDICTS, Prompt, Rollout, Score
from learnable.data.sources.packed import IdIndex, PackedPrompts
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.stopping.schedule import Schedule
from learnable.flows.settings import CurateSettings

ROWS_AT_ONCE = 8192  # looked through
Answered = tuple[Prompt, Rollout]  # what a verifier judges: a completion, as an answer to this prompt
Refused = tuple[range, str]  # the indices of rollouts that the engine refused, and why


class RewardTable:
    """A cell for each prompt of a pool and each rollout that it may get. Texts, scores and reasons are in the ledger.

    `have` says which rollouts are there, shape (prompts, most rollouts a prompt); their rewards go to the schedule,
    whose rows are the pool's. `tokens` has the sum and the count over the rollouts of each prompt, shape (2, prompts).
    `refused` are the rollouts of each prompt that no ledger has. `needed` is how many of those that are there some run
    has asked for, by prompt: what lies beyond was made ahead, and counts only once it is asked for.
    """

    def __init__(self, schedule: Schedule, prompts: Sequence[Prompt], settings: CurateSettings) -> None:
        self.prompts = prompts if isinstance(prompts, PackedPrompts) else PackedPrompts(prompts)
        keys = self.prompts.keys
        self.row, self.rows_of = IdIndex(keys[:, 0]), IdIndex(keys[:, 1])  # several prompts may share a question
        self.have: Flags = np.zeros(schedule.rewards.shape, bool)
        self.needed: Indices = np.zeros(len(prompts), np.int32)
        self.tokens: Values = np.zeros((2, len(prompts)))
        self.refused: dict[str, list[Refused]] = {}
        self._news: list[Indices] | None = None  # rows that got rollouts since they were last asked for
        self._silence: Counter[str] = Counter()  # rollouts that will never come, by reason
        self._rewards = schedule.rewards
        self._counted = ("scored",) if settings.truncated == "exclude" else REWARDED_VERDICTS
        self._signal = "passed" if settings.band.signal == "pass" else "reward"

    def find_prompt(self, prompt_id: str) -> Prompt:
        """Return the prompt that has this id."""
        return self.prompts[self.row[prompt_id][0]]

    def prompts_of(self, question_id: str) -> list[Prompt]:
        """Return the prompts that ask this question."""
        return [self.prompts[row] for row in self.rows_of[question_id]]

    def mark(self, rollouts: pl.DataFrame, marks: pl.DataFrame) -> None:
        """Count rollouts as there: rows with `prompt_id`, `question_id`, `rollout_index`; `marks` are the ledger's."""
        self._mark(self._rows(rollouts), rollouts["rollout_index"].cast(pl.Int64).to_numpy())
        counted = rollouts.join(marks.filter(~pl.col("needed")), on=["question_id", "rollout_index"], how="anti")
        np.maximum.at(self.needed, self._rows(counted), counted["rollout_index"].to_numpy() + 1)
        for question_id, index, needed in marks.iter_rows():
            if needed:
                self.need(question_id, index + 1)

    def need(self, question_id: str, end: int) -> None:
        """Note that some run has asked for the rollouts of a question up to, without it, this index."""
        rows = self.rows_of[question_id]
        self.needed[rows] = np.maximum(self.needed[rows], end)

    def take(self, answered: Sequence[Answered], scores: Sequence[Score]) -> None:
        """Take in rollouts and their scores: NaN stays where a rollout does not count."""
        values = [getattr(score, self._signal) if score.verdict in self._counted else None for score in scores]
        self._set(
            self.row.find([prompt.prompt_id for prompt, _ in answered]),
            np.array([rollout.rollout_index for _, rollout in answered], np.int64),
            np.array([rollout.num_tokens for _, rollout in answered], np.float64),
            np.array([np.nan if value is None else value for value in values], np.float64),
        )

    def take_frame(self, scored: pl.DataFrame) -> None:
        """Take in rollouts and their scores, as the ledger has them."""
        value = pl.when(pl.col("verdict").is_in(self._counted)).then(pl.col(self._signal).cast(pl.Float64))
        self._set(
            self._rows(scored),
            scored["rollout_index"].cast(pl.Int64).to_numpy(),
            scored["num_tokens"].cast(pl.Float64).to_numpy(),
            scored.select(value.fill_null(float("nan"))).to_series().to_numpy(),
        )

    def take_news(self) -> Indices:
        """Return the rows that rollouts with scores have come for since this was last called, some of them twice."""
        news, self._news = self._news or [], []
        return np.concatenate([np.zeros(0, np.int64), *news])

    @property
    def news(self) -> int:
        """How many rows `take_news` would return."""
        return sum(map(len, self._news or ()))

    def find_complete(self, rows: Indices, ends: Indices) -> Indices:
        """Return those of these rows whose rollouts are all there; `ends` has how many of each row of the pool."""
        complete = [rows[:0]]
        for part in np.array_split(rows, len(rows) // ROWS_AT_ONCE + 1):
            beyond = np.arange(self.have.shape[1])[None, :] >= ends[part, None]
            complete.append(part[(self.have[part] | beyond).all(axis=1)])
        return np.concatenate(complete)

    def find_gapless(self) -> Indices:
        """Return how many rollouts of each prompt are there without a gap."""
        return np.where(self.have.all(axis=1), self.have.shape[1], self.have.argmin(axis=1))

    def find_needed(self, requested: Indices) -> Indices:
        """Return how many rollouts of each prompt this or another run has asked for, for any prompt of its question."""
        _, question_of = np.unique(self.prompts.keys[:, 1], return_inverse=True)
        needed = np.zeros(len(self.needed), np.int64)
        np.maximum.at(needed, question_of, np.maximum(self.needed, requested))
        return needed[question_of]

    def list_needed(self, requested: Indices) -> list[tuple[str, int]]:
        """Return the last rollouts, by question and index, of groups of which this run asked for more than others."""
        ends = np.minimum(requested, self.find_gapless())
        rows = np.flatnonzero(ends > self.needed).tolist()
        return sorted({(self.prompts[row].question_id, int(ends[row]) - 1) for row in rows})

    def count_stored(self, requested: Indices) -> Indices:
        """Return how many of the requested rollouts of each prompt are there."""
        stored = np.zeros(len(self.prompts), np.int64)
        for index in range(self.have.shape[1]):
            stored += self.have[:, index] & (requested > index)
        return stored

    def count_unneeded(self, requested: Indices) -> int:
        """Return how many rollouts are there that were made ahead and that no run has asked for."""
        _, rows = np.unique(self.prompts.keys[:, 1], return_index=True)
        ends, count = self.find_needed(requested), 0
        for part in np.array_split(rows, len(rows) // ROWS_AT_ONCE + 1):
            count += int((self.have[part] & (np.arange(self.have.shape[1])[None, :] >= ends[part, None])).sum())
        return count

    def refuse(self, question_id: str, indices: range, reason: str) -> None:
        """Note rollouts that the engine refused: they are missing, and never scored."""
        for prompt in self.prompts_of(question_id):
            self.refused.setdefault(prompt.prompt_id, []).append((indices, whole_characters(reason)))
        self.note_silence(reason, len(indices))

    def note_silence(self, reason: str, rollouts: int) -> None:
        """Note why rollouts of a question will never come."""
        self._silence[shorten_reason(whole_characters(reason))] += rollouts

    def check_answers(self) -> None:
        """Raise `NothingAnsweredError` where there is no rollout at all, and none of those requested will come."""
        if not self._silence or self.have.any():
            return
        reasons = "; ".join(f"{count:,} x {reason}" for reason, count in self._silence.most_common(3))
        raise NothingAnsweredError(
            f"none of {self._silence.total():,} rollouts was answered ({reasons}), so nothing is decided and no set is "
            "published: mend that, then give the same command again"
        )

    def _set(self, rows: Indices, columns: Indices, tokens: Values, rewards: Values) -> None:
        self._mark(rows, columns)
        if self._news is not None:  # somebody asks for them
            self._news.append(rows)
        np.add.at(self.tokens[0], rows, tokens)
        np.add.at(self.tokens[1], rows, 1.0)
        inside = (columns < self._rewards.shape[1]) & ~np.isnan(rewards)
        self._rewards[rows[inside], columns[inside]] = rewards[inside]

    def _mark(self, rows: Indices, columns: Indices) -> None:
        inside = columns < self.have.shape[1]
        self.have[rows[inside], columns[inside]] = True

    def _rows(self, rollouts: pl.DataFrame) -> Indices:
        return self.row.find(rollouts["prompt_id"].to_list())
