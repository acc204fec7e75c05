"""Parts of rewards that never fire, or always do, told of when the pilot is scored and nothing long is paid yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from learnable.data.progress import progress
from learnable.data.records import Prompt, Rollout, Score
from learnable.filters.decisions.findings import ENOUGH_PROMPTS, ENOUGH_ROLLOUTS
from learnable.flows.sampling.scan import SCORED
from learnable.verifiers.reward_parts import find_parts, is_only_format, say_wish

REFUSED = "the reward looks at the form of a completion in no other way, so training needs `allow_silent_reward`"
ReadText = Callable[[Prompt, str], str]  # of a prompt's stored rollout, by its id


@dataclass(slots=True)
class _Seen:
    """What was seen of one component: how many rollouts had it, of which prompts, at which ends.

    `prompt` got the first of them, `rollout_id`; `example` is its text, None where it is in the store.
    """

    prompt: Prompt
    rollout_id: str
    example: str | None = None
    rollouts: int = 0
    zeros: int = 0
    ones: int = 0
    prompts: set[str] = field(default_factory=set)

    def count(self, rollouts: int, zeros: int, ones: int, prompt_ids: Collection[str]) -> None:
        self.rollouts += rollouts
        self.zeros += zeros
        self.ones += ones
        if self.rollouts in (self.zeros, self.ones):
            self.prompts.update(prompt_ids)
        else:  # nothing to tell of, and there may be a million of them
            self.prompts.clear()


class ComponentWatch:
    """Looks at the components of scores until it has told what it saw; afterwards it costs nothing.

    `read_text` reads rollouts of earlier runs. `named` has the families and components that this run was told of
    already: what a later watch of the run sees again is no news.
    """

    def __init__(self, read_text: ReadText, named: set[tuple[str, str]] | None = None) -> None:
        self._read_text = read_text
        self._named = set() if named is None else named
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._told = False

    def add(self, answered: Sequence[tuple[Prompt, Rollout]], scores: Sequence[Score]) -> None:
        """Look at scored rollouts; those without a reward say nothing."""
        if self._told:
            return
        for (prompt, rollout), score in zip(answered, scores, strict=True):
            if score.reward is not None:
                for name, value in score.components.items():
                    seen = self._see(prompt, name, rollout.rollout_id, rollout.completion)
                    seen.count(1, value == 0, value == 1, (prompt.prompt_id,))

    def add_stored(self, prompts: Mapping[str, Prompt], scores: pl.DataFrame) -> None:
        """Look at scores of earlier runs, as `Ledger.find_scores` returns them; `prompts` are theirs by id."""
        if self._told or not prompts:
            return
        families = {name: prompt.family for name, prompt in prompts.items()}
        for row in count_components(scores, families).iter_rows(named=True):
            seen = self._see(prompts[row["prompt_id"]], row["name"], row["rollout_id"])
            seen.count(row["rollouts"], row["zeros"], row["ones"], row["prompts"])

    def tell(self) -> None:
        """Tell `progress()`, once, of components that were 0, or 1, in every rollout so far."""
        if not self._told:
            self._told = True
            for text, is_dead in self.findings():
                (progress().warn if is_dead else progress().note)(text)
            self._seen.clear()

    def findings(self) -> Iterator[tuple[str, bool]]:
        """Yield a sentence about each constant component, and whether it never fires; too few rollouts say nothing."""
        for (family, name), seen in sorted(self._seen.items()):
            few = seen.rollouts < ENOUGH_ROLLOUTS or len(seen.prompts) < ENOUGH_PROMPTS
            if few or (family, name) in self._named:
                continue
            self._named.add((family, name))
            part = find_parts(seen.prompt.spec).get(name)
            where = f"all {seen.rollouts:,} rollouts of {len(seen.prompts):,} prompts so far"
            refused = f"; {REFUSED}" if is_only_format(seen.prompt.spec, name) else ""
            if seen.zeros == seen.rollouts:
                why = f" ({wish})" if part and (wish := say_wish(part)) else ""
                yield (
                    f"{family}: {name} is 0 in {where}: it never fires{why}. A completion of this policy reads "
                    f"{self._shown(seen)!r}: check that prompts ask for it and that the verifier can see it, before "
                    f"more is paid{refused}",
                    True,
                )
            elif name != "format" or part:  # without a shape it says that an answer was there: no part of the reward
                yield (
                    f"{family}: {name} is 1 in {where}: it always fires, so GRPO can learn nothing from it{refused}",
                    False,
                )

    def _see(self, prompt: Prompt, name: str, rollout_id: str, example: str | None = None) -> _Seen:
        key = (prompt.family, name)
        if key not in self._seen:
            self._seen[key] = _Seen(prompt, rollout_id, example)
        return self._seen[key]

    def _shown(self, seen: _Seen) -> str:
        return shorten_example(self._read_text(seen.prompt, seen.rollout_id) if seen.example is None else seen.example)


def count_components(scores: pl.DataFrame, families: Mapping[str, str]) -> pl.DataFrame:
    """Count the components of scores that have a reward.

    Args:
        scores: `prompt_id`, `rollout_id`, `reward` and `components`, as Arrow's maps become in polars.
        families: by prompt id.

    Returns:
        A row for each `family` and component `name`: `rollouts` that have it, `zeros` and `ones` of them, their
        `prompts`, and `prompt_id` and `rollout_id` of one.
    """
    value, of_family = pl.col("value"), pl.DataFrame({"prompt_id": list(families), "family": list(families.values())})
    return (
        scores.lazy()
        .filter(pl.col("reward").is_not_null())
        .select("prompt_id", "rollout_id", pl.col("components").cast(SCORED["components"]))
        .explode("components")
        .with_columns(name=pl.col("components").struct.field("key"), value=pl.col("components").struct.field("value"))
        .filter(value.is_not_null())
        .join(of_family.lazy(), on="prompt_id", maintain_order="left")
        .group_by("family", "name")
        .agg(
            pl.len().alias("rollouts"),
            (value == 0).sum().alias("zeros"),
            (value == 1).sum().alias("ones"),
            pl.col("prompt_id").unique().alias("prompts"),
            pl.col("prompt_id", "rollout_id").first(),
        )
        .collect()
    )


def shorten_example(completion: str) -> str:
    """Return the beginning of a completion, for a sentence."""
    limit = 60  # characters of a completion
    return completion[:limit] + ("..." if len(completion) > limit else "")
