"""What would make training on a pool go sideways, each finding as one sentence with its numbers and the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import polars as pl

from learnable.data.curated.manifest import Finding
from learnable.data.records import Row
from learnable.filters.decisions.alike import Likeness, PromptComparison, compare_prompts
from learnable.filters.statistics.variance import OPENING, split_pool_variance

ENOUGH_PROMPTS = 8  # fewer say nothing of a form
ENOUGH_ROLLOUTS = 100  # what never happens in 100 happens in fewer than 3 of 100 (95 % confidence)
DEAD_SHARE = 0.7  # of a form's groups without any variance

_FORM = ("family", "form")
_READ = ("decision", "n", "mean", "std", "passes", "zero_std")


def find_warnings(groups: pl.DataFrame, components: pl.DataFrame) -> list[Finding]:
    """Return what is wrong with a pool of decided groups; forms with little data are passed over in silence.

    Args:
        groups: rows of `filters.statistics.groups.group_stats` with `family`, `form` and `decision`.
        components: what `filters.statistics.forms.component_stats` says of the same rollouts.
    """
    # Few of a pool's columns, since rows are copied here.
    columns = [name for name in (*_FORM, *_READ, *OPENING) if name in groups.columns]
    scored = groups.lazy().select(columns).filter(pl.col("n") > 0)
    forms = _forms(scored)
    parts = components.filter((pl.col("prompts") >= ENOUGH_PROMPTS) & (pl.col("rollouts") >= ENOUGH_ROLLOUTS))
    return [
        *_zero_variance(forms),
        *_constant_components(parts.sort("family", "component", "form").to_dicts()),
        *_faked_signals(forms, parts),
        *_variance_elsewhere(scored),
        *_alike_prompts(forms, scored.collect()),
    ]


def _forms(scored: pl.LazyFrame) -> pl.DataFrame:
    """Return one row a form with enough prompts, in the order of names."""
    counts = scored.group_by(_FORM).agg(
        pl.len().alias("prompts"),
        pl.col("n").sum().alias("rollouts"),
        (pl.col("decision") == "keep").sum().alias("kept"),
        pl.col("zero_std").mean().alias("dead"),
        ((pl.col("passes") > 0) & (pl.col("passes") < pl.col("n"))).sum().alias("mixed"),
        pl.col("passes").sum(),
    )
    enough = (pl.col("prompts") >= ENOUGH_PROMPTS) & (pl.col("rollouts") >= ENOUGH_ROLLOUTS)
    return counts.filter(enough).sort(_FORM).collect()


def _zero_variance(forms: pl.DataFrame) -> Iterator[Finding]:
    for family, rows in _by(("family",), forms.filter(pl.col("dead") > DEAD_SHARE).to_dicts()):
        named = _name(f"{row['form']} ({row['dead']:.0%})" for row in rows)
        text = (
            f"most groups of {named} in {family} have no spread, so GRPO learns nothing from them: "
            "take easier or harder prompts, or leave these forms out"
        )
        yield Finding("no_spread", family, _form_names(rows), text)


def _constant_components(parts: Sequence[Row]) -> Iterator[Finding]:
    """Report components that are 0, or 1, in every rollout of a form."""
    ways_out = {
        "share_zero": ("0", "it never fires: check that prompts ask for it and that the verifier can see it"),
        "share_one": ("1", "it can teach nothing: leave it out of the reward, or ask for more"),
    }
    for share, (value, way_out) in ways_out.items():
        for name, rows in _by(("family", "component"), [row for row in parts if row[share] == 1]):
            rollouts, prompts = (sum(row[key] for row in rows) for key in ("rollouts", "prompts"))
            text = (
                f"{name} is {value} in all {rollouts:,} rollouts of {prompts:,} prompts "
                f"({_name(_form_names(rows))}); {way_out}"
            )
            yield Finding("constant_component", name, _form_names(rows), text)


def _faked_signals(forms: pl.DataFrame, parts: pl.DataFrame) -> Iterator[Finding]:
    """Report forms whose rewards vary within groups by one component, while no group has both passes and fails."""
    unmoved = forms.filter((pl.col("mixed") == 0) & (pl.col("dead") <= DEAD_SHARE)).select(*_FORM, "passes")
    # A component drives a reward where it explains this share of the variance within groups.
    drivers = parts.filter(pl.col("explained") >= 0.5).sort("explained", "component", descending=[True, False])
    first = drivers.unique(_FORM, keep="first", maintain_order=True)
    driven = first.join(unmoved, on=_FORM).sort("family", "component", "form")
    for name, rows in _by(("family", "component"), driven.to_dicts()):
        named = _name(
            f"{row['form']} ({row['explained']:.0%}, {row['passes']:,} of {row['rollouts']:,} pass)" for row in rows
        )
        text = (
            f"{name} drives the reward's spread within groups of {named}, where no prompt both passes and fails: "
            "GRPO will train that component alone; check that it leads to passing, or weigh it less"
        )
        yield Finding("faked_signal", name, _form_names(rows), text)


def _variance_elsewhere(scored: pl.LazyFrame) -> Iterator[Finding]:
    """Report a pool whose rewards differ between groups, which the advantage takes out, and hardly within them."""
    split = split_pool_variance(scored)
    forms, prompts, within = split.between_forms, split.between_prompts, split.within
    # A larger share of the pool's variance within groups is enough to learn from.
    if forms is None or prompts is None or within is None or within >= 0.3:
        return
    if split.prompts < ENOUGH_PROMPTS or split.rollouts < ENOUGH_ROLLOUTS:
        return
    shares = f"{forms:.0%} of the rewards' variance lies between forms, {prompts:.0%} between prompts of one form and "
    shares += f"{within:.0%} within groups, all that GRPO learns from"
    if forms >= prompts:
        text = f"{shares}: keep the forms that spread within groups, and leave out those that are solved or hopeless"
        yield Finding("spread_between_forms", "the pool", (), text)
    else:
        text = f"{shares}: train only on prompts in the band, and look for ones of middling difficulty"
        yield Finding("spread_between_prompts", "the pool", (), text)


def _alike_prompts(forms: pl.DataFrame, scored: pl.DataFrame) -> Iterator[Finding]:
    """Report forms of which prompts were kept that are all alike, and those where too few prompts tell of that."""
    picked = forms.filter(pl.col("kept") > 0)
    compared = [
        (form, compare_prompts(scored.filter(family=form["family"], form=form["form"]))) for form in picked.to_dicts()
    ]
    for family, rows in _by(("family",), _of_likeness("alike", compared)):
        named = _name(f"{row['form']} (F = {row['compared'].f_ratio:.2f}, {row['prompts']} prompts)" for row in rows)
        text = (
            f"prompts of {named} in {family} differ no more than sampling noise would make them, so picking among them "
            "picks luck: keep or drop such a form as a whole"
        )
        yield Finding("alike_prompts", family, _form_names(rows), text)
    for family, rows in _by(("family",), _of_likeness("unknown", compared)):
        named = _name(f"{row['form']} ({row['prompts']}, {row['compared'].enough:,} would tell)" for row in rows)
        text = (
            f"too few prompts of {named} in {family} to tell whether they differ by more than sampling noise: picking "
            "among them may pick luck"
        )
        yield Finding("undecided_prompts", family, _form_names(rows), text)


def _of_likeness(likeness: Likeness, compared: Iterable[tuple[Row, PromptComparison]]) -> list[Row]:
    return [{**form, "compared": comparison} for form, comparison in compared if comparison.likeness == likeness]


def _by(keys: Sequence[str], rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name of each run of rows with equal `keys`, and the rows."""
    for name, run in groupby(rows, lambda row: ": ".join(row[key] for key in keys)):
        yield name, list(run)


def _form_names(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(row["form"] for row in rows)


def _name(items: Iterable[str]) -> str:
    """Write a list, its end as a number where it is long."""
    names = list(items)
    named = 5  # forms that a sentence names
    more = f" and {len(names) - named} more" if len(names) > named else ""
    return ", ".join(names[:named]) + more
