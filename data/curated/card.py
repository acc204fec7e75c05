"""The Hugging Face dataset card of a curated set: what is in it, how it was chosen, how to use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from learnable.data.curated.manifest import Manifest, SetPart, SummaryRow
from learnable.data.curated.record import to_plain
from learnable.data.plain_text import quote_markdown
from learnable.data.schemas import OUR_COLUMNS

PART_NOTES = {
    "train": "kept prompts",
    "test": "kept prompts held out from training",
    "rejects": "every other prompt, with the reason in `decision`",
    "reserve": "harder prompts, for a later stage: not kept now, and sometimes solved",
    "demonstrations": "the best passed completion of each prompt of `train` that has one: `prompt` and `completion` "
    "for SFT",
    "preferences": "the best and the worst completion of each prompt of `train` whose rewards differ: `prompt`, "
    "`chosen` and `rejected` for DPO, with their rewards and the `margin` between these",
    "control": "random prompts of the same pool, as many as `train`: train on them to measure what curation gave",
}
COLUMN_NOTES = {
    "prompt": "the text, or chat messages, as TRL reads it",
    "prompt_id": "hash of prompt, verifier and spec",
    "verifier": "name of the verifier that judges completions",
    "spec": "what that verifier needs, JSON",
    "mean": "mean reward of the group",
    "std": "population standard deviation of the group's rewards",
    "pass_rate": "share of the group that passed",
    "n": "rollouts that count",
    "n_eff": "how many passes and fails these rollouts tell as much as",
    "alpha": "with `beta`, `p_zero` and `p_one`: what is known of the prompt's true mean reward, a Beta distribution "
    "and masses",
    "p_zero": "chance that it always fails",
    "p_one": "chance that it always succeeds",
    "opening_n": "with `opening_mean` and `opening_std`: the rollouts before anything was decided, on which the "
    "variances of forms rest",
    "p_in_band": "chance that its true mean reward lies in the band",
    "p_min_std": "chance that its true standard deviation is at least the smallest one that is accepted",
    "p_keep": "chance that it belongs here: both of them",
    "ci_low": "with `ci_high`: the central 90 % interval of its true mean reward",
    "std_low": "with `std_high`: the central 90 % interval of its true spread",
    "usable_at_g": "chance that a group of the trainer's size is not zero-std",
    "zero_std_at_4": "chance that a group of 4 is zero-std; likewise for the other sizes",
    "variance_share": "variance inside its groups, as a share of what pass and fail of the same mean would have",
    "pass_variance": "p (1 - p) of the pass rate",
    "expected_within_variance": "expected within-group variance: what a group of it is worth to GRPO",
    "collides_with": "the prompt, or the item of an evaluation set, that a dropped prompt repeats",
    "certified_by": "`rollouts` of this policy, or `moved` from those of an earlier one",
    "triage": "what the evidence says of a prompt that was never solved",
    "decision": "`keep`, or why not",
}
ANNOTATED = {  # columns of `learnable annotate`
    "total_rollouts": "`n`, as open-instruct names it",
    "total_correct_rollouts": "`passes`, as open-instruct names it",
    "passrate": "`pass_rate`, as open-instruct names it",
    "certificates": "what each policy makes of the question: counts, pass rate, interval, usable groups, decision",
}
USE_FILES = 'load_dataset("parquet", data_files={"train": "train-*.parquet", "test": "test-*.parquet"})'
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))  # the hub's words
USE = (
    "## Use",
    "",
    "```python",
    "from datasets import load_dataset",
    "from learnable.train.rewards import verifier_reward",
    "",
    f"prompts = {USE_FILES}",
    "# GRPOTrainer(model, reward_funcs=[verifier_reward], train_dataset=prompts['train'], ...)",
    "```",
    "",
)


@dataclass(frozen=True, slots=True)
class Publication:
    """What the card of a published set says more: its id on the hub ("" elsewhere), its licences and sources.

    Each of `sources` is a name, how many prompts came from it, and its licence, "" where that is not known.
    """

    hub_id: str
    licenses: tuple[str, ...]
    sources: tuple[tuple[str, int, str], ...]


def render_card(name: str, manifest: Manifest, publication: Publication | None = None) -> str:
    """Return the card as Markdown with the YAML header that the hub, its viewer and `load_dataset` read."""
    parts = ((part, info.rows, PART_NOTES[part]) for part, info in manifest.parts.items())
    annotated = publication is not None and ANNOTATED.keys() <= manifest.schema.keys()
    columns = (
        (quote_markdown(column), quote_markdown(kind), _note(column, annotated=annotated))
        for column, kind in manifest.schema.items()
    )
    lines = [_header(manifest.parts, publication), f"# {quote_markdown(name)}", "", _describe_band(manifest), ""]
    lines += [_table(("part", "rows", "what"), parts), "", *(USE if publication is None else _use(publication))]
    lines += [
        f"Or: `learnable train --curated` with this folder. Sampling: {_pairs(to_plain(manifest.sampling))}.",
        f"Verifiers: {_pairs(manifest.verifiers)}. Seed {manifest.seed}, made {quote_markdown(manifest.created)}.",
        "",
    ]
    lines += _describe_sources(manifest, publication) if publication else []
    lines += ["## By form", "", _forms_table(manifest.forms), ""]
    lines += ["## Columns", "", _table(("column", "type", "what"), columns), ""]
    return "\n".join(lines)


def _describe_band(manifest: Manifest) -> str:
    band = manifest.band
    return (
        f"Prompts on which {quote_markdown(manifest.policy.policy_id)} is neither hopeless nor done: of its "
        f"completions of a prompt the mean {band.signal} lies in {band.low:g} to {band.high:g} and spreads by at least "
        f"{band.min_std:g}."
    )


def _note(column: str, *, annotated: bool) -> str:
    if annotated and column in ANNOTATED:
        return ANNOTATED[column]
    return COLUMN_NOTES.get(column, "") if column in OUR_COLUMNS else "carried from the prompts' own table"


def _header(parts: Mapping[str, SetPart], publication: Publication | None) -> str:
    held_out = ("train", "test") if publication is None else _with_rows(parts, ("train", "test"))
    others = sorted(set(parts) - {"train", "test"})
    lines = ["---", "configs:"]
    if held_out:
        lines += ["- config_name: default", "  data_files:"]
        lines += [f"  - split: {part}\n    path: {part}-*.parquet" for part in held_out]
    for part in others if publication is None else _with_rows(parts, others):
        lines += [f"- config_name: {part}", f"  data_files: {part}-*.parquet"]
    lines += ["tags:", "- grpo", "- learnable"]
    if publication is not None:
        lines += _describe_for_hub(sum(parts[part].rows for part in held_out), publication.licenses)
    return "\n".join([*lines, "---", ""])


def _with_rows(parts: Mapping[str, SetPart], names: Iterable[str]) -> list[str]:
    """Return the parts that have rows: the viewer shows an error for one without."""
    return [name for name in names if name in parts and parts[name].rows]


def _describe_for_hub(rows: int, licenses: Sequence[str]) -> list[str]:
    """Return the keys by which the hub lists and filters data sets."""
    size = next((name for most, name in SIZES if rows < most), "n>1M")
    lines = ["task_categories:", "- text-generation", "size_categories:", f"- {size}"]
    if len(licenses) == 1:
        return [*lines, f"license: {licenses[0]}"]
    return [*lines, *(["license:"] + [f"- {name}" for name in licenses] if licenses else [])]


def _use(publication: Publication) -> Sequence[str]:
    if not publication.hub_id:
        return USE
    return tuple(line.replace(USE_FILES, f'load_dataset("{publication.hub_id}")') for line in USE)


def _describe_sources(manifest: Manifest, publication: Publication) -> list[str]:
    known = ((quote_markdown(name), count, told or "not known") for name, count, told in publication.sources)
    drawn = f"drawn from {quote_markdown(manifest.policy.policy_id)} by {quote_markdown(manifest.engine)}"
    if manifest.imported is not None:
        files = ", ".join(map(quote_markdown, manifest.imported.files))
        drawn = f"imported from {files} ({quote_markdown(manifest.imported.format)})"
    licence = ", ".join(publication.licenses) or "not known: ask the sources"
    return [
        "## Licence and sources",
        "",
        f"Licence: {licence}.",
        "",
        _table(("prompts from", "prompts", "licence"), known),
        "",
        f"Rollouts were {drawn}. Certificates hold for that policy alone.",
        "",
    ]


def _forms_table(forms: Iterable[SummaryRow]) -> str:
    header = (
        *("form", "prompts", "kept", "expected within-group variance"),
        *("mean", "within-std", "between-std", "zero-std share"),
    )
    return _table(
        header, ((quote_markdown(row.form), row.prompts, row.kept, *map(_number, _figures(row))) for row in forms)
    )


def _figures(row: SummaryRow) -> tuple[float | None, ...]:
    return row.expected_within_variance, row.mean, row.within_std, row.between_std, row.zero_std_share


def _table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{quote_markdown(key)} {quote_markdown(value)}" for key, value in values.items())
