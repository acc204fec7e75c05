"""The pools and their curated sets, made by the real `find-learnable`, once each.

`natural`: the number tasks that `make demo` trains on (arithmetic, comparison, counting), as they are drawn. `dead`:
prompts of the same tasks of which 70 % have no spread. Its recipe: survey 8,000 prompts; of the pool take 30 %
at random from those that the survey kept, and 70 % from the rejected ones whose certificates say that 16 completions
are all alike, all right or all wrong, with a chance of .9 or more. Which is which is then forgotten: the pool is
curated anew, with other random numbers and in a store of its own, so that the curation pays for what it finds, and the
luck of the survey's rollouts decides nothing. `mixed`: as many of the number tasks, and of eight data sets of
reasoning-gym at random settings (`benchmarks/decisions/measured_prediction.py`), in random order.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa

from benchmarks.decisions.measured_prediction import draw_gym, to_row
from benchmarks.decisions.refresh import learnable, read_rows
from learnable.data.curated.curated_set import (
    POOL_PART,
    UNKEPT_PARTS,
    CuratedSet,
    find_versions,
    open_curated,
    publish_curated,
)
from learnable.data.errors import LearnableError
from learnable.train.live.rates import Certificates
from learnable.verifiers.families.prompts import builtin_prompts

PoolName = Literal["dead", "natural", "mixed"]
POOLS: tuple[PoolName, ...] = ("dead", "natural", "mixed")
FAMILIES = ("arithmetic", "comparison", "counting")
PROMPTS = 2000
SURVEYED = 8000  # of which about a fifth are rejected for certain, and more kept
DEAD_SHARE = 0.7
DEAD_FROM = 0.9  # of the certified chance that 16 completions are all alike
TEST_SHARE = 0.3
MAX_TOKENS = 16  # as `make demo` trains
RATE_ROLLOUTS, RATE_SEED, LOWEST_RATE, HIGHEST_RATE = 8, 2, 0.2, 0.8  # of plain filters by pass rate
SURVEY_SEED, POOL_SEED = 0, 1  # of the curations: no rollout of the survey is drawn again
COLUMNS = ("prompt", "verifier", "spec", "family", "form", "difficulty")


def prepare_pool(name: PoolName, folder: Path) -> CuratedSet:
    """Return the curated set of a pool; make it where `folder` has none."""
    if name == "natural":
        return curate(folder / "store", name, POOL_SEED, *_family_flags(), "--limit", PROMPTS)
    file = folder / "pool.jsonl"
    if name == "mixed" and not file.is_file():
        draw_mixed_pool(PROMPTS, POOL_SEED).write_ndjson(file)
    elif not file.is_file():
        flags = (*_family_flags(), "--limit", SURVEYED, "--predict", "off")
        survey = curate(folder / "survey", "survey", SURVEY_SEED, *flags)
        pool = draw_dead_pool(read_rows(str(survey.path)), PROMPTS, DEAD_SHARE, POOL_SEED)
        pool.select(COLUMNS).write_ndjson(file)
    return curate(folder / "store", name, POOL_SEED, "--prompts", file, "--near-duplicates", 1)


def curate(store: Path, name: str, seed: int, *flags: object, test_share: float = TEST_SHARE) -> CuratedSet:
    """Return the curated set of a name in a store; run `find-learnable` where there is none."""
    place = store / "curated" / name
    if not find_versions(str(place)):
        common = ("--max-tokens", MAX_TOKENS, "--test-share", test_share, "--seed", seed)
        learnable("find", *flags, *common, "--name", name, "--store", store)
    return open_curated(str(place))


def draw_mixed_pool(prompts: int, seed: int) -> pl.DataFrame:
    """Return prompts in random order, half of them of reasoning-gym. Raises `LearnableError` where that is missing."""
    numbers = islice(builtin_prompts((), FAMILIES, None, seed), prompts // 2)
    rows = [to_row(prompt) for prompt in chain(numbers, islice(draw_gym(seed), prompts - prompts // 2))]
    texts = [{**row, "spec": json.dumps(row["spec"], default=dict)} for row in rows]
    return pl.DataFrame(texts, infer_schema_length=None).sample(fraction=1.0, shuffle=True, seed=seed)


def find_by_rate(curated: CuratedSet, folder: Path) -> CuratedSet:
    """Return a set of those prompts of a pool of which 1.6 to 6.4 of 8 rollouts pass, as plain filters take them."""
    flags = ("--sampling", "fixed", "--group-size", RATE_ROLLOUTS, "--predict", "off", "--near-duplicates", 1)
    file = write_trained(curated, folder)
    found = curate(folder / "store", "rate", RATE_SEED, "--prompts", file, *flags, test_share=0.0)
    rows = found.read(POOL_PART)
    rates = rows["pass_rate"].to_numpy()
    kept = rows.filter(pa.array((rates >= LOWEST_RATE) & (rates <= HIGHEST_RATE)))
    return publish_curated(folder / "set", {"train": kept, "rejects": rows}, found.manifest)


def write_trained(curated: CuratedSet, folder: Path) -> Path:
    """Write the prompts of a pool that may be trained on to a file in `folder`, and return it."""
    file = folder / "prompts.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(curated.read(POOL_PART, columns=list(COLUMNS))).write_ndjson(file)
    return file


def forget_certificates(curated: CuratedSet, folder: Path) -> CuratedSet:
    """Return the copy in `folder` whose certificates say of each prompt what is known of one that nobody asked."""
    parts = {name: curated.read(name) for name in curated.manifest.parts}
    count = {name: parts[name].num_rows for name in ("train", *UNKEPT_PARTS) if name in parts}
    parts |= {name: _forget(parts[name], Certificates.unknown(rows)) for name, rows in count.items()}
    return publish_curated(folder, parts, curated.manifest)


def _forget(rows: pa.Table, unknown: Certificates) -> pa.Table:
    told = {"alpha": unknown.alpha, "beta": unknown.beta, "p_zero": unknown.p_zero, "p_one": unknown.p_one}
    told |= {"n_eff": rows["n"].to_numpy()}  # as many as there are: not graded, whose passes would be counted
    for name, values in told.items():
        place, kind = rows.schema.get_field_index(name), rows.schema.field(name).type
        rows = rows.set_column(place, name, pa.array(values, kind))
    return rows


def draw_dead_pool(rows: pl.DataFrame, prompts: int, dead_share: float, seed: int) -> pl.DataFrame:
    """Return `prompts` rows of a survey in random order: `dead_share` of them without spread, the others kept.

    `rows` has a row a prompt, with `decision` and `zero_std_at_16`. Raises `LearnableError` where there are too few.
    """
    dead, kept = round(prompts * dead_share), pl.col("decision") == "keep"
    wanted = {
        "rejected for certain": (rows.filter(~kept & (pl.col("zero_std_at_16") >= DEAD_FROM)), dead),
        "kept": (rows.filter(kept), prompts - dead),
    }
    for what, (found, count) in wanted.items():
        if found.height < count:
            raise LearnableError(
                f"the pool takes {count} prompts that the survey {what}, and there are {found.height} of "
                f"{rows.height}: survey more prompts (SURVEYED)"
            )
    drawn = pl.concat([found.sample(count, seed=seed) for found, count in wanted.values()])
    return drawn.sample(fraction=1.0, shuffle=True, seed=seed)


def count_tokens(curated: CuratedSet) -> int:
    """Return the tokens that a curation generated of the prompts that are trained on, kept and rejected.

    Those of held-out prompts are not counted: they are for the measurement, and no training needs them.
    """
    return int(pl.DataFrame(curated.read(POOL_PART, columns=["tokens"]))["tokens"].sum())


def count_rollouts(curated: CuratedSet) -> int:
    """Return the completions that a curation generated of the prompts that are trained on."""
    return int(pl.DataFrame(curated.read(POOL_PART, columns=["rollouts"]))["rollouts"].sum())


def measure_length(curated: CuratedSet, part: str) -> float:
    """Return the mean tokens of a completion of a part's prompts, each prompt counting alike, as in training."""
    rows = pl.DataFrame(curated.read(part, columns=["tokens", "rollouts"])).filter(pl.col("rollouts") > 0)
    return float((rows["tokens"] / rows["rollouts"]).to_numpy().mean())


def _family_flags() -> list[str]:
    return [part for family in FAMILIES for part in ("--family", family)]
