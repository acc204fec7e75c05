"""Rewards of which nothing that looks at a completion's form ever moves: training on them is not begun unasked."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from learnable.data.curated.manifest import Finding
from learnable.data.records import Prompt, Row
from learnable.filters.decisions.findings import ENOUGH_PROMPTS, ENOUGH_ROLLOUTS
from learnable.flows.sampling.component_watch import REFUSED, shorten_example
from learnable.flows.sampling.scan import RolloutScan
from learnable.verifiers.reward_parts import find_parts, is_only_format, say_wish


def find_silent_rewards(components: pl.DataFrame, scan: RolloutScan) -> Iterator[Finding]:
    """Yield a finding for each part that is its reward's only one for the form, and 0, or 1, in every rollout.

    `components` has a row for each form and component, as of `summarise_components`. Families with little data are
    passed over in silence.
    """
    shaped = _find_shaped(scan)
    for row in _find_constant(components).iter_rows(named=True):
        if (prompt := shaped.get((row["family"], row["component"]))) is not None:
            yield _make_finding(row, prompt, _read_example(scan, prompt))


def _find_shaped(scan: RolloutScan) -> dict[tuple[str, str], Prompt]:
    """Return one sampled prompt for each family and part that is the only one for the form in all of its prompts."""
    examples: dict[tuple[str, str], Prompt] = {}
    other_shapes: set[tuple[str, str]] = set()
    for prompt, requested in zip(scan.prompts, scan.requested, strict=True):
        for name in find_parts(prompt.spec) if requested else ():
            key = (prompt.family, name)
            if is_only_format(prompt.spec, name):
                examples.setdefault(key, prompt)
            else:
                other_shapes.add(key)
    return {key: prompt for key, prompt in examples.items() if key not in other_shapes}


def _find_constant(components: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each family and component with enough data that is 0, or 1 (`value`), in every rollout."""
    counts = components.group_by("family", "component").agg(
        pl.col("prompts", "rollouts").sum(),
        pl.col("form").sort().alias("forms"),
        pl.col("share_zero", "share_one").min(),
    )
    enough = (pl.col("prompts") >= ENOUGH_PROMPTS) & (pl.col("rollouts") >= ENOUGH_ROLLOUTS)
    constant = (pl.col("share_zero") == 1) | (pl.col("share_one") == 1)
    value = (pl.col("share_one") == 1).cast(pl.Int64).alias("value")
    return counts.filter(enough & constant).with_columns(value).sort("family", "component")


def _make_finding(row: Row, prompt: Prompt, example: str) -> Finding:
    subject, wish = f"{row['family']}: {row['component']}", say_wish(find_parts(prompt.spec)[row["component"]])
    words = {
        0: ("never fires", "mend the part, or let prompts ask for it"),
        1: ("always fires", "leave the part out"),
    }
    fires, way_out = words[row["value"]]
    text = (
        f"{subject} is {row['value']} in all {row['rollouts']:,} rollouts of {row['prompts']:,} prompts: it {fires}, "
        f"so GRPO can learn nothing from it ({wish}). A completion of this policy reads {shorten_example(example)!r}: "
        f"{way_out}; {REFUSED}"
    )
    return Finding("silent_reward", subject, tuple(row["forms"]), text)


def _read_example(scan: RolloutScan, prompt: Prompt) -> str:
    """Return one completion of a prompt that was scored."""
    for part in scan.parts({prompt.prompt_id}):
        scored = part.filter(pl.col("reward").is_not_null()).head(1)
        for texts in scan.read_texts(scored):
            if texts.height:
                return str(texts["completion"][0])
    return ""
