"""Runs of words (n-grams) that occur more than once in many texts, and which of them are mere templates."""

from __future__ import annotations

import numpy as np
import polars as pl

from learnable.filters.duplicates.texts import Flags, Ids, Texts

TEMPLATE_TEXTS = 5  # fewer texts that agree are a coincidence or copies, not a template


def number_runs(texts: Texts, length: int) -> Ids:
    """Number the runs of `length` words: equal runs have equal numbers.

    Returns one number for each word of `texts`, of the run that starts there; -1 where the run would leave its text,
    or occurs nowhere else. Exact, without hashing: runs of 2, 4, 8, ... words are pairs of numbered shorter ones, as
    in the prefix doubling of Karp, Miller and Rosenberg (1972), and what is unique while short never grows.
    """
    runs, size, room = texts.words, 1, texts.room
    while size < length:
        step = min(size, length - size)
        size += step
        runs = _pair(runs, step, room >= size)
    return runs


def _pair(runs: Ids, step: int, fits: Flags) -> Ids:
    paired = np.full_like(runs, -1)
    starts = np.flatnonzero(fits)
    left, right = runs[starts], runs[starts + step]
    alive = (left >= 0) & (right >= 0)
    starts, left, right = starts[alive], left[alive], right[alive]
    if len(starts):
        _, numbers, counts = np.unique(left * (runs.max() + 1) + right, return_inverse=True, return_counts=True)
        paired[starts] = np.where(counts[numbers] > 1, numbers, -1)
    return paired


def find_template_runs(texts: Texts, runs: Ids, groups: Ids, share: float) -> Flags:
    """Return, for each word, whether the run that starts there is a template of some group of texts.

    A run is a template where at least `TEMPLATE_TEXTS` texts of one group hold it, and more than `share` of the
    group. `groups` numbers the group of each text, -1 for texts that are not counted.
    """
    owners = texts.owners
    held = pl.DataFrame({"run": runs, "text": owners, "group": groups[owners]}).filter(
        pl.col("run") >= 0, pl.col("group") >= 0
    )
    sizes = pl.DataFrame({"group": groups}).group_by("group").len("size")
    templates = (
        held.unique()
        .group_by("run", "group")
        .len("texts")
        .join(sizes, on="group")
        .filter(pl.col("texts") >= TEMPLATE_TEXTS, pl.col("texts") > share * pl.col("size"))
    )
    return np.isin(runs, templates["run"].to_numpy())


def cover_words(starts: Flags, length: int) -> Flags:
    """Return, for each word, whether a run of `length` words that starts where `starts` is true covers it."""
    edges = np.zeros(len(starts) + length, dtype=np.int64)
    edges[: len(starts)] += starts
    edges[length:] -= starts
    return edges[: len(starts)].cumsum() > 0
