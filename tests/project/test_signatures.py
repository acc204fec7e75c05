"""Public signatures say what is in a value: any JSON object has one name, for those who read or write JSON."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.domains import HAS_POEMS
from tests.support.paths import ROOT

ROOMS = ("data", "rollouts", "verifiers", "filters", "train", "viewing", "flows", "src/learnable/cli")
FILES = {str(file.relative_to(ROOT)): file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))}
NAMED = "data/records.py"  # where `JsonObject`, `Spec` and `Row` are defined
UNTYPED = ("JsonObject", "Row")
# Each file here reads or writes JSON, or a table of TOML; a `Row` is one of a Parquet file, or of a user's own.
JSON_BORDER = {
    "data/curated/manifest.py",  # manifest.json
    "data/curated/record.py",
    "data/curated/refreshed.py",
    "verifiers/poetry/forms/form.py",  # declarations of forms, in TOML and in specs
    "verifiers/poetry/forms/reading.py",
    "data/sources/files/columns.py",  # columns that a user's row carries along
    "data/sources/gym/generation.py",  # lines between processes
    "data/sources/gym/prompts.py",
    "data/exports/rows.py",  # rows of other programs' files
    "data/exports/targets.py",  # templates of rows, in TOML
    "data/exports/writing.py",
    "data/sources/rollouts/counts.py",  # rows of other programs' files
    "data/sources/rollouts/files.py",
    "data/sources/rollouts/formats.py",
    "data/sources/rollouts/values.py",
    "filters/posterior/certificate.py",  # parts of manifest.json
    "filters/posterior/variance_model.py",
    "filters/stopping/budget.py",
    "flows/comparing.py",  # `--json`
    "flows/curation/cost.py",
    "flows/curation/preview.py",
    "flows/curation/report.py",
    "flows/dialing/report.py",
    "flows/evaluating/report.py",
    "flows/looping/job_report.py",
    "flows/looping/report.py",
    "flows/refreshing/pool.py",  # settings in manifest.json
    "flows/refreshing/publishing.py",
    "rollouts/settings.py",  # options of engines, which users give as JSON
    "rollouts/server/answers.py",  # bodies of requests
    "src/learnable/cli/arguments.py",  # `--spec`
    "src/learnable/cli/commands/doctor.py",  # `--json`: what the sandbox says of itself
    "src/learnable/cli/commands/explain.py",  # `--spec`, and rows of JSON Lines
    "src/learnable/cli/commands/find_arguments.py",  # settings by their names
    "src/learnable/cli/commands/forms.py",  # `--json`, and declarations
    "src/learnable/cli/commands/import_rollouts.py",  # `--json`
    "src/learnable/cli/commands/settings_page.py",  # the same
    "src/learnable/cli/flags.py",  # settings by their names
    "src/learnable/cli/commands/train.py",  # settings of training by their names, as in TOML
    "train/ablation/report.py",  # `--json`
    "train/child.py",  # lines between processes
    "train/live/predicted.py",  # state beside a checkpoint
    "train/live/rates.py",  # state beside a checkpoint
    "train/live/course.py",  # state beside a checkpoint
    "train/live/sampler.py",  # state beside a checkpoint
    "train/monitor/records.py",  # metrics.jsonl
    "train/presets.py",  # settings of training, in TOML
    "train/results/evaluation.py",  # settings and reports of training
    "train/results/report.py",
    "train/rewards.py",  # chats, as TRL passes them
    "train/file_settings.py",  # settings of files
    "train/settings.py",
    "train/trl_options.py",  # settings of TRL's by its names
    "verifiers/explanation.py",  # `--json`
    "verifiers/files/rows.py",  # completions, as JSON Lines
    "verifiers/poetry/batch.py",  # rows of JSON Lines
    "verifiers/poetry/explanation.py",  # `--json`
    "verifiers/programs/sandbox/machine.py",  # `--json` of `learnable doctor`
    "viewing/details.py",  # what the page reads
    "viewing/library.py",
    "viewing/packing.py",
    "viewing/report.py",
    "viewing/summary.py",
    "viewing/training.py",
}
ROWS = {
    "data/exports/rows.py",
    "data/tables.py",
    "data/sources/files/answers.py",
    "data/sources/files/columns.py",
    "data/sources/files/doubts.py",
    "data/sources/files/layouts/recognition.py",
    "data/sources/files/problems.py",
    "data/sources/files/questions.py",
    "data/sources/files/readers.py",
    "data/sources/files/rows.py",
    "data/sources/files/templates.py",
    "data/sources/rollouts/counts.py",
    "data/sources/rollouts/files.py",
    "data/sources/rollouts/formats.py",
    "data/sources/rollouts/values.py",
    "data/sources/test_code/program_rows.py",
    "flows/showing.py",
    "viewing/details.py",
}


def public_annotations(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the annotations that callers see: of functions, methods and fields; and what types at the top stand for."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) if (
                name.startswith("_") and not name.startswith("__")
            ):
                continue
            case ast.FunctionDef(args=args, returns=returns) | ast.AsyncFunctionDef(args=args, returns=returns):
                every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
                yield from (each.annotation for each in every if each is not None and each.annotation is not None)
                if returns is not None:
                    yield returns
            case ast.ClassDef():
                yield from public_annotations(child)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
                yield annotation
            case ast.Assign(value=ast.Subscript() | ast.Name() | ast.BinOp() as value) if isinstance(node, ast.Module):
                yield value


def is_untyped_mapping(node: ast.AST) -> bool:
    """Say whether an annotation is a mapping from text to anything: `dict[str, Any]`, `Mapping[str, Any]` and the like.

    >>> [is_untyped_mapping(ast.parse(code, mode="eval").body) for code in ("dict[str, Any]", "dict[str, object]")]
    [True, False]
    """
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id="str"), ast.Name(id="Any")])):
            return ast.unparse(node.value).endswith(("dict", "Dict", "Mapping"))
    return False


def untyped_names(tree: ast.AST) -> set[str]:
    """Return what public signatures of a file say that tells a reader nothing of a mapping's keys.

    >>> sorted(untyped_names(ast.parse("def f(a: list[dict[str, Any]], b: Row | None) -> int: ...")))
    ['Row', 'dict[str, Any]']
    >>> untyped_names(ast.parse("class _A: b: Row"))
    set()
    """
    parts = [part for annotation in public_annotations(tree) for part in ast.walk(annotation)]
    named = {part.id for part in parts if isinstance(part, ast.Name) and part.id in UNTYPED}
    return named | {ast.unparse(part) for part in parts if is_untyped_mapping(part)}


def test_only_those_who_read_or_write_json_take_any_object() -> None:
    for name in sorted(set(FILES) - {NAMED}):
        allowed = ({"JsonObject"} if name in JSON_BORDER else set()) | ({"Row"} if name in ROWS else set())
        assert untyped_names(ast.parse(FILES[name].read_text(encoding="utf-8"))) <= allowed, name


def test_each_file_at_the_border_is_there_for_a_reason() -> None:
    used = {name: untyped_names(ast.parse(file.read_text(encoding="utf-8"))) for name, file in FILES.items()}
    border = {name for name in JSON_BORDER if HAS_POEMS or not name.startswith("verifiers/poetry/")}
    assert {name for name in used if "JsonObject" in used[name]} - {NAMED} == border
    assert {name for name in used if "Row" in used[name]} - {NAMED} == ROWS
