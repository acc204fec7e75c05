"""Writes a curated set as another trainer reads it: rows, certificates, order, and the judge that its hook calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.curated.curated_set import COMPLETION_PARTS, SET_PARTS, CuratedSet
from learnable.data.dialogue.chats import read_chat_template
from learnable.data.dialogue.thinking import ThinkTags, find_tags
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.exports.rows import Exported, fill_row, plain
from learnable.data.exports.targets import Target, find_target
from learnable.data.exports.writing import write_bytes, write_rows, write_table
from learnable.data.progress import progress
from learnable.data.records import JsonObject, is_own_verifier
from learnable.data.sources.files.locations import folder_name
from learnable.flows.settings.exporting import ExportSettings
from learnable.flows.showing import locate_set
from learnable.verifiers.registry import check_trusted, trust_verifiers

USUAL_PARTS = ("train", "test")
README = "README.md"


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote: files with their rows, which of them `changed`, and what to type in the trainer."""

    curated: str
    target: str
    output: str
    order: str
    rows: dict[str, int]
    files: tuple[str, ...]
    changed: tuple[str, ...]
    judge: str
    use: str


def run_export(settings: ExportSettings) -> ExportReport:
    """Write a set for a trainer. Files that are there as they would be written are left alone.

    Raises `LearnableError` for what cannot be read or written, and where a judge is needed that nobody has named.
    """
    target = find_target(settings.to)
    trust_verifiers(settings.verifiers)
    curated = locate_set(settings.curated, settings.store)
    parts = {part: _order(curated.read(part), settings.order) for part in _choose_parts(curated, settings.parts)}
    own = _check_judges(parts.values(), target)
    name = curated.path.parent.name
    output = Path(settings.output)
    tags = _find_tags(curated)
    words = _words(name, own, tags)
    folder = output / words["package"] if target.package else output
    written: dict[str, bool] = {}
    for part, table in parts.items():
        progress().stage(f"Writing {part}")
        written |= _write_part(table, folder / f"{part}{target.suffix}", target, Exported(name, _say_tags(tags)))
    for file, text in _list_texts(target, words, folder, output, curated, settings).items():
        written[str(file)] = write_bytes(text.encode(), file)
    return ExportReport(
        curated=str(curated.path),
        target=target.name,
        output=str(output),
        order=settings.order,
        rows={part: table.num_rows for part, table in parts.items()},
        files=tuple(written),
        changed=tuple(file for file, is_new in written.items() if is_new),
        judge=str(folder / target.judge_name) if target.judge else "",
        use=_fill_words(target.use, words).strip(),
    )


def _choose_parts(curated: CuratedSet, wanted: Sequence[str]) -> list[str]:
    for part in wanted:
        if part not in SET_PARTS:
            raise UnknownNameError("part of a curated set", part, SET_PARTS)
        if part in COMPLETION_PARTS:
            raise LearnableError(
                f"`parts` {part} holds completions and no prompts to judge: `learnable train` takes it"
            )
        if not curated.shards(part):
            raise LearnableError(f"curated set {str(curated.path)!r} has no part {part!r}")
    return list(dict.fromkeys(wanted)) or [part for part in USUAL_PARTS if curated.shards(part)]


def _order(table: pa.Table, order: str) -> pa.Table:
    """Return the rows as they are, or the easiest first: by the mean reward that certificates expect."""
    if order == "set" or not table.num_rows:
        return table
    missing = {"alpha", "beta", "p_zero", "p_one"} - set(table.column_names)
    if missing:
        raise LearnableError(f"`order` curriculum needs certificates, and the set has no {sorted(missing)[0]!r}")
    p_zero, p_one, alpha, beta = (table[name] for name in ("p_zero", "p_one", "alpha", "beta"))
    between = pc.subtract(pc.subtract(pa.scalar(1.0), p_zero), p_one)
    expected = pc.add(p_one, pc.multiply(between, pc.divide(alpha, pc.add(alpha, beta))))
    keys = pa.table({"expected": pc.negate(expected), "prompt_id": table["prompt_id"]})
    return table.take(pc.sort_indices(keys, [("expected", "ascending"), ("prompt_id", "ascending")]))


def _check_judges(tables: Iterable[pa.Table], target: Target) -> list[str]:
    """Return the verifiers of users' own that rows name. Raises `LearnableError` where a judge would be none."""
    names = sorted({str(name) for table in tables for name in pc.unique(table["verifier"]).to_pylist()})
    if target.judge:
        check_trusted(names)
    return [name for name in names if is_own_verifier(name)]


def _find_tags(curated: CuratedSet) -> ThinkTags | None:
    """Return the tags around the policy's thoughts, which judges are not given."""
    policy, given = curated.manifest.policy, curated.manifest.sampling.think_tags
    template = read_chat_template(policy.path, download=False) if policy.path and not given else None
    return find_tags(given, template)


def _say_tags(tags: ThinkTags | None) -> str:
    return f"{tags.open} {tags.close}" if tags else ""


def _words(name: str, own: Sequence[str], tags: ThinkTags | None) -> dict[str, str]:
    """Return what the texts of targets may name."""
    package = f"learnable_{folder_name(name).lower()}".replace("-", "_").replace(".", "_")
    named = "".join(f"trust_verifier({verifier!r})\n" for verifier in own)
    trust = f"from learnable.verifiers.registry import trust_verifier\n\n{named}" if named else ""
    return {"package": package, "dash": package.replace("_", "-"), "trust": trust, "tags": repr(tags)}


def _fill_words(text: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"%({name})s", value)
    return text


def _write_part(table: pa.Table, file: Path, target: Target, export: Exported) -> dict[str, bool]:
    if target.takes_all and target.file == "parquet":
        return {str(file): write_table(table, file)}
    rows = table.to_pylist()
    if target.takes_all:
        return {str(file): write_rows([_plain_row(row) for row in rows], file, target.file)}
    longer = sum(not isinstance(row["prompt"], str) and len(row["prompt"]) > 1 for row in rows)
    if target.one_turn and longer:
        progress().warn(
            f"{longer:,} prompts have several turns, and {target.title} takes the first message for the question: the "
            "last turn alone is written, and what the system says is for its own configuration"
        )
    filled = [fill_row(target.columns, row, index, export) for index, row in enumerate(rows)]
    written = {str(file): write_rows(filled, file, target.file)}
    if target.twin:
        twin = file.with_name(f"{file.stem}{target.twin}{file.suffix}")
        filled = [fill_row(target.twin_columns, row, index, export) for index, row in enumerate(rows)]
        written[str(twin)] = write_rows(filled, twin, target.file)
    return written


def _plain_row(row: JsonObject) -> JsonObject:
    return {name: plain(value) for name, value in row.items()}


def _list_texts(
    target: Target, words: dict[str, str], folder: Path, output: Path, curated: CuratedSet, settings: ExportSettings
) -> dict[Path, str]:
    """Return the files beside the rows: the judge, what installs it, and a page that says how all of it is used."""
    texts = {}
    if target.judge:
        texts[folder / target.judge_name] = _fill_words(target.judge, words).strip() + "\n"
    if target.pyproject:
        texts[output / "pyproject.toml"] = _fill_words(target.pyproject, words).strip() + "\n"
    use = _fill_words(target.use, words).strip()
    order = "from the easiest prompt to the hardest" if settings.order == "curriculum" else "as the set has them"
    texts[output / README] = (
        f"# {curated.path.parent.name} for {target.title}\n\nPrompts of a curated set ({curated.path.name}), {order}, "
        f"for {curated.manifest.policy.policy_id}. Columns as {target.source} reads them.\n\n```\n{use}\n```\n"
    )
    return texts
