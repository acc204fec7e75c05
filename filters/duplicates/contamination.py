"""Which prompts repeat an item of an evaluation set, so that training on them would spoil the evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from learnable.data.records import Prompt
from learnable.data.sources.files.evaluation_sets import EvaluationSet
from learnable.filters.arrays import Flags
from learnable.filters.duplicates import near_duplicates
from learnable.filters.duplicates.texts import (
    Ids,
    Texts,
    cover_words,
    each_once,
    find_template_runs,
    join_turns,
    number_runs,
    read_texts,
    split_words,
)

LONG_RUN = 13
SHORT_RUN = 8
MIN_OVERLAP = 0.5
ITEM_TEMPLATE_RUN = 4  # words in a row
TEMPLATE_SHARE = 0.1
CONTAMINATION_SCHEMA = pl.Schema({**near_duplicates.DUPLICATE_SCHEMA, "ngram": pl.String()})
_HITS = pl.Schema({"prompt": pl.Int64, "item": pl.Int64, "overlap": pl.Float64, "start": pl.Int64, "length": pl.Int64})


def find_contaminated(prompts: Sequence[Prompt], sets: Sequence[EvaluationSet]) -> pl.DataFrame:
    """Find the prompts that share too much of their wording with one item of an evaluation set.

    A prompt is contaminated where its words (`wording.split_words`) equal those of an item, or, in a chat, its last
    turn's do; where it shares a run of `LONG_RUN` words with an item, the rule of Brown et al., 2020, appendix C; or
    where at least `MIN_OVERLAP` of its runs of `SHORT_RUN` words are in one item, the kind of rule of Lambert et al.,
    2024 (Tulu 3). Templates are no evidence, in either rule. Words of a template are those in a run of
    `ITEM_TEMPLATE_RUN` that more than `TEMPLATE_SHARE`, and at least `TEMPLATE_TEXTS`, of one set's items hold, or of
    the prompts of one form; a run counts only where at least half of its words are none. So a held-out set of the same
    generator does not condemn every prompt; but a form with fewer prompts has no template, and its wording in a set
    counts in full.

    Returns one row for each contaminated prompt, in order: `prompt_id`, `decision` ("contaminated"), `collides_with`
    ("<set name>:<item id>", the item with the strongest evidence: equality, then a long run, then the largest share),
    `overlap` (share of the prompt's runs of `SHORT_RUN` words, templates aside, that the item holds; 1 where equal),
    and `ngram` (the first words they share, `LONG_RUN` at most).
    """
    items = [f"{one.name}:{item_id}" for one in sets for item_id in one.item_ids]
    if not items:
        return pl.DataFrame(schema=CONTAMINATION_SCHEMA)  # the templates of the prompts would be looked for in vain
    pool = each_once(prompts)
    texts = read_texts([*map(join_turns, pool), *(text for one in sets for text in one.texts)])
    groups = _groups(pool, sets)
    hits = pl.concat([_equal_texts(pool, texts), _shared_runs(texts, groups, len(pool))])
    best = hits.unique("prompt", keep="first", maintain_order=True).sort("prompt")
    rows = [
        (
            pool[prompt].prompt_id,
            "contaminated",
            items[item - len(pool)],
            overlap,
            texts.spell(start, min(length, LONG_RUN)),
        )
        for prompt, item, overlap, start, length in best.iter_rows()
    ]
    return pl.DataFrame(rows, schema=CONTAMINATION_SCHEMA, orient="row")


def _groups(pool: Sequence[Prompt], sets: Sequence[EvaluationSet]) -> Ids:
    """Number what may share a template: the prompts of each form, and each evaluation set."""
    forms: dict[tuple[str, str], int] = {}
    of_prompts = [forms.setdefault((prompt.family, prompt.form), len(forms)) for prompt in pool]
    of_items = [len(forms) + number for number, one in enumerate(sets) for _ in one.texts]
    return np.array([*of_prompts, *of_items], dtype=np.int64)


def _equal_texts(pool: Sequence[Prompt], texts: Texts) -> pl.DataFrame:
    """Return a hit for each prompt whose words, or the words of whose last turn, are those of an item."""
    items: dict[bytes, int] = {}
    for item in range(len(pool), len(texts)):
        if len(words := texts.words[texts.span(item)]):
            items.setdefault(words.tobytes(), item)
    rows = []
    for number, prompt in enumerate(pool):
        start, end = texts.starts[number], texts.starts[number + 1]
        last = start if isinstance(prompt.prompt, str) else end - len(split_words(prompt.text))
        for begin in (start, last):
            if (match := items.get(texts.words[begin:end].tobytes())) is not None:
                rows.append((number, match, 1.0, begin, end - begin))
                break
    return pl.DataFrame(rows, schema=_HITS, orient="row")


def _shared_runs(texts: Texts, groups: Ids, first_item: int) -> pl.DataFrame:
    """Return the hits by long runs, then those by the share of short runs, largest first."""
    template_starts = find_template_runs(texts, number_runs(texts, ITEM_TEMPLATE_RUN), groups, TEMPLATE_SHARE)
    template_words = cover_words(template_starts, ITEM_TEMPLATE_RUN)
    short = _own_runs(texts, SHORT_RUN, template_words)
    long_hits = _long_hits(_own_runs(texts, LONG_RUN, template_words), first_item)
    shares = _shares(short, long_hits, first_item)
    by_long = long_hits.join(shares.select("prompt", "item", "overlap"), on=["prompt", "item"], how="left").fill_null(0)
    by_share = shares.filter(pl.col("overlap") >= MIN_OVERLAP).sort(-pl.col("overlap"), "item")
    hits = (by_long.with_columns(length=LONG_RUN), by_share.with_columns(length=SHORT_RUN))
    return pl.concat([hit.select(_HITS.names()).cast(_HITS) for hit in hits])


def _own_runs(texts: Texts, length: int, template_words: Flags) -> pl.DataFrame:
    """Return `text`, `start` and `run` of every run that is no template; `run` is -1 where it occurs only once."""
    before = np.concatenate([[0], template_words.cumsum()])
    starts = np.flatnonzero(texts.room >= length)
    starts = starts[before[starts + length] - before[starts] <= length / 2]
    return pl.DataFrame({"text": texts.owners[starts], "start": starts, "run": number_runs(texts, length)[starts]})


def _long_hits(runs: pl.DataFrame, first_item: int) -> pl.DataFrame:
    """Return each prompt that shares a run, with the first such run and the first item that has it."""
    shared = runs.filter(pl.col("run") >= 0)
    holders = shared.filter(pl.col("text") >= first_item).group_by("run").agg(pl.col("text").min().alias("item"))
    return (
        shared.filter(pl.col("text") < first_item)
        .join(holders, on="run")
        .sort("start")
        .unique("text", keep="first", maintain_order=True)
        .select(pl.col("text").alias("prompt"), "item", "start")
    )


def _shares(runs: pl.DataFrame, long_hits: pl.DataFrame, first_item: int) -> pl.DataFrame:
    """Return `overlap` and the first shared `start` for pairs of prompt and item that may matter.

    Those are the pairs of `long_hits`, and all pairs of a prompt of whose runs at least `MIN_OVERLAP` are in some item:
    a phrase that many texts have in common must not cost a row for each pair of them.
    """
    of_prompts = runs.filter(pl.col("text") < first_item).rename({"text": "prompt"})
    of_items = runs.filter(pl.col("text") >= first_item, pl.col("run") >= 0).select("run", pl.col("text").alias("item"))
    of_items = of_items.unique()
    hit = pl.Series("hit", np.isin(of_prompts["run"].to_numpy(), of_items["run"].to_numpy()))
    totals = (
        of_prompts.with_columns(hit).group_by("prompt").agg(pl.len().alias("runs"), pl.col("hit").sum().alias("hits"))
    )
    likely = totals.filter(pl.col("hits") > 0, pl.col("hits") >= MIN_OVERLAP * pl.col("runs"))
    pairs = pl.concat(
        [
            of_prompts.join(likely, on="prompt", how="semi").join(of_items, on="run"),
            of_prompts.join(long_hits.select("prompt", "item"), on="prompt").join(
                of_items, on=["run", "item"], how="semi"
            ),
        ],
        how="diagonal",
    ).unique()
    counts = pairs.group_by("prompt", "item").agg(pl.len().alias("shared"), pl.col("start").min())
    counts = counts.join(totals, on="prompt")
    # polars multiplies by the reciprocal where all of a column is one value: 6 of 10 were .6000000000000001
    return counts.with_columns(overlap=counts["shared"].to_numpy() / counts["runs"].to_numpy())
