"""Reads a run's own rollouts back from the ledger, a part of the pool at a time: never all of them at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger, share_out
from learnable.data.records import Prompt
from learnable.filters.arrays import Indices
from learnable.flows.sampling.reward_table import Refused

ROLLOUTS_AT_ONCE = 1 << 14  # in memory while a part is read: some 3 KB each

# Components as Arrow's maps become in polars.
SCORED: dict[str, pl.DataType | type[pl.DataType]] = {
    "prompt_id": pl.String,
    "rollout_id": pl.String,
    "rollout_index": pl.Int64,
    "num_tokens": pl.Int64,
    "reward": pl.Float64,
    "passed": pl.Boolean,
    "verdict": pl.String,
    "reason": pl.String,
    "components": pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
}
TEXT_COLUMNS = {"prompt_id": pl.String, "rollout_id": pl.String, "completion": pl.String}


@dataclass(frozen=True, slots=True)
class RolloutScan:
    """The rollouts that a run requested, and none of the others that the ledger has of its pool.

    Later runs give some prompts more. If those were counted, a run that goes on would fit other priors and drifts than
    it did at first, and decide otherwise.

    Of each of `prompts`: `requested` rollouts, of which the ledger has `stored`; `opening` of them came before any of
    its rewards were known. `refused` has by prompt id what the engine refused. `versions` are those of the verifiers.
    """

    ledger: Ledger
    draw: Draw
    versions: Mapping[str, str]
    prompts: Sequence[Prompt]
    requested: Indices
    stored: Indices
    opening: Indices
    refused: Mapping[str, Sequence[Refused]]

    def parts(self, prompt_ids: Collection[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the scored rollouts of the prompts, or of some of them, each prompt's together.

        Frames have the columns `SCORED`, one row for each rollout and prompt that it answers, in the order of their
        keys; `family` and `form` of the prompt; and `opening`, whether it got the rollout before any of its rewards
        were known. Raises `LearnableError` where the ledger lacks what the run wrote.
        """
        for rows in self._shares(prompt_ids):
            scored = self._read(rows)
            if (lost := int(self.stored[rows].sum()) - scored.height) > 0:
                raise LearnableError(
                    f"{lost:,} rollouts of this run cannot be read back from {str(self.ledger.root)!r}, where they "
                    "were a moment ago: the same command makes them again"
                )
            order = ("prompt_id", "rollout_index", "rollout_id")
            every = pl.concat([scored, self._read_refused(rows)]).sort(order)
            joined = every.join(self._describe(rows), on="prompt_id", how="left", maintain_order="left")
            yield joined.with_columns(opening=pl.col("rollout_index") < pl.col("_opening")).drop("_opening")

    def read_texts(self, chosen: pl.DataFrame, *, whole: bool = False) -> Iterator[pl.DataFrame]:
        """Yield the completions of some rollouts, `prompt_id` and `rollout_id`, with these columns and `completion`.

        As a `whole` they have the thoughts before the answers.
        """
        shares = list(self._shares(set(chosen["prompt_id"])))
        names = [self.prompts[row].prompt_id for rows in shares for row in rows]
        numbers = np.repeat(np.arange(len(shares)), [len(rows) for rows in shares])
        of_share = pl.DataFrame({"prompt_id": names, "_share": numbers}, {"prompt_id": pl.String, "_share": pl.Int64})
        keys = chosen.select("prompt_id", "rollout_id").join(of_share, on="prompt_id", maintain_order="left")
        for share in keys.partition_by("_share", maintain_order=True):
            prompts = [self.prompts[row] for row in shares[share["_share"][0]]]
            for texts in self.ledger.read_completions(self.draw, share, prompts, reasoning=whole):
                if whole:
                    written = pl.concat_str("reasoning", "completion").alias("completion")
                    texts = texts.select("rollout_id", written)
                yield share.drop("_share").join(texts, on="rollout_id", maintain_order="left")

    def _shares(self, prompt_ids: Collection[str] | None) -> Iterator[Indices]:
        """Yield rows of the pool, in its order, that share it out, without those of which nothing was requested.

        The whole pool has at least one share, which may be empty; some prompts of it may have none.
        """
        rows = np.flatnonzero(self.requested > 0)
        if prompt_ids is not None:
            rows = rows[np.array([self.prompts[row].prompt_id in prompt_ids for row in rows], bool)]
        if len(rows) or prompt_ids is None:
            yield from (rows[share] for share in share_out(self.requested[rows], ROLLOUTS_AT_ONCE))

    def _read(self, rows: Indices) -> pl.DataFrame:
        prompts = [self.prompts[row] for row in rows]
        rollouts, _ = self.ledger.find_rollouts(self.draw, prompts)
        ends = pl.DataFrame({"prompt_id": [p.prompt_id for p in prompts], "_end": self.requested[rows]})
        stored = rollouts.join(ends, on="prompt_id").filter(pl.col("rollout_index") < pl.col("_end"))
        scores = self.ledger.find_scores(self.draw, stored, self.versions, errors=True)
        columns = ["prompt_id", "rollout_id", "reward", "passed", "verdict", "reason", "components"]
        joined = stored.join(scores.select(columns), on=["prompt_id", "rollout_id"])
        return joined.select(pl.col(name).cast(kind) for name, kind in SCORED.items())

    def _read_refused(self, rows: Indices) -> pl.DataFrame:
        missing = [
            {"prompt_id": name, "rollout_id": "", "rollout_index": index, "num_tokens": 0, "reason": reason}
            for row, name in ((row, self.prompts[row].prompt_id) for row in rows if self.refused)
            for indices, reason in self.refused.get(name, ())
            for index in indices
            if index < self.requested[row]
        ]
        nothing = {"verdict": pl.lit("engine_error"), "components": pl.lit([], SCORED["components"])}
        schema = {name: kind for name, kind in SCORED.items() if name not in nothing}
        return pl.DataFrame(missing, schema).with_columns(**nothing).select(list(SCORED))

    def _describe(self, rows: Indices) -> pl.DataFrame:
        prompts = [self.prompts[row] for row in rows]
        return pl.DataFrame(
            {
                "prompt_id": [prompt.prompt_id for prompt in prompts],
                "family": [prompt.family for prompt in prompts],
                "form": [prompt.form for prompt in prompts],
                "_opening": self.opening[rows],
            }
        )
