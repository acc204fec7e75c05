"""`learnable import`: rollouts and rewards that exist become a ledger and a curated set; nothing is generated."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.arguments import WORKERS, name_verifier
from learnable.cli.commands.find import describe_rejected
from learnable.cli.commands.find_arguments import PresetArguments, read_names, read_spec, read_tags
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.report_tables import tabulate_forms
from learnable.cli.flags import Flag, Given, flags_of, with_flags
from learnable.data.errors import LearnableError, shorten_reason
from learnable.data.records import JsonObject, Sampling
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.curation import DECIDED, OUTPUT, POLICY, PROMPTS
from learnable.flows.settings.importing import READ, ImportSettings

if TYPE_CHECKING:
    from learnable.flows.importing.judging import Comparison
    from learnable.flows.importing.pipeline import ImportReport

IMPORT_HELP = """
Make a curated set of rollouts and rewards that exist: no model is asked, and no GPU needed.

Reads NeMo Gym rollouts, verifiers traces, rLLM results, TRL completions, lm-eval samples, lines of prompt, \
completion and reward, and tables of pass counts (model, k, passes, or a rate with --k). Files are told apart by their \
columns. A second import adds what is new and nothing else. With --verifier a judge scores the stored completions \
anew, and where it differs from the file is shown.

\b
Examples:
  learnable import rollouts.jsonl
  learnable import outputs/run/traces.jsonl --policy org/model
  learnable import completions/*.parquet --reward accuracy_reward --policy checkpoints/start
  learnable import samples_gsm8k_2026-08-01.jsonl --verifier mathematics
  learnable import lines.jsonl --reward-range -1..1 --reward-pass 0.5
  learnable import counts.parquet --policy Qwen2.5-Math-7B
  learnable import counts.parquet texts.parquet
  learnable import big-math.parquet --k 64 --rate llama8b_solve_rate
"""

FILE_COLUMNS = "prompt_column answer_column verifier spec skip_bad_rows decontaminate near_duplicates"
RUN = "policy verify_policy group_size truncated test_share seed store name workers score_on verifier_timeout wait"
DRAWN = "temperature top_p top_k min_p repetition_penalty stop template_args think_tags"
SHOWN = 160  # characters of a prompt or a completion on which judges differ


def read_judge(typed: list[str] | None) -> str | None:
    """Return the judge that was named. Raises `LearnableError` for one that cannot judge, and for several."""
    names = read_names(typed)
    if len(names) > 1:
        raise LearnableError(f"--verifier is given {len(names)} times: one judge scores the completions anew")
    return name_verifier(names[0], None, None) if names else None


@with_flags(READ, PROMPTS, POLICY, DECIDED, OUTPUT)
def import_rollouts(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Rollouts, or count tables.")],
    how: Annotated[Given, flags_of(ImportSettings, READ)],
    prompts: Annotated[
        Given,
        flags_of(
            PromptSettings,
            PROMPTS,
            only=FILE_COLUMNS,
            prompt_column=Flag(help="Count tables: the column of the prompt's text."),
            answer_column=Flag(help="The column of the right answer, for --verifier. (default: what the format says)"),
            verifier=Flag(
                help="A judge that scores the stored completions anew: a name, yours as FILE.py:OBJECT, or trl:NAME.",
                kind=list[str],
                read=read_judge,
            ),
            spec=Flag(kind=str, default="{}", read=read_spec),
        ),
    ],
    run: Annotated[Given, flags_of(CurateSettings, only=RUN, workers=WORKERS)],
    drawn: Annotated[Given, flags_of(Sampling, POLICY, only=DRAWN, think_tags=Flag(default="auto", read=read_tags))],
    preset: PresetArguments,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a curated set of rollouts that exist."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.importing.pipeline import run_import

        settings = ImportSettings(
            files=tuple(files),
            **how.read(),
            curation=CurateSettings(
                **run.read(),
                prompts=PromptSettings(location=files[0], **_near(prompts.read())),
                preset=preset.chosen_preset(),
                sampling=Sampling(**drawn.read()),
            ),
        )
        show_import(shell, run_import(settings), settings)


def _near(typed: JsonObject) -> JsonObject:
    """Return the settings of prompts, near duplicates found as in other files."""
    from learnable.filters.duplicates.near_duplicates import NEAR_OVERLAP

    return typed | ({"near_duplicates": NEAR_OVERLAP} if typed["near_duplicates"] is None else {})


def show_import(shell: Shell, report: ImportReport, settings: ImportSettings) -> None:
    """Show what came in, what was made of it, and what to type next."""
    store = settings.curation.store
    if shell.as_json:
        shell.dump(to_json(report, store))
        return
    shell.line(f"{', '.join(report.files)}: {report.title}")
    if report.counts is not None:
        same = report.counts.counts - report.counts.new - report.counts.changed
        models = f"{len(report.counts.models)} model{'' if len(report.counts.models) == 1 else 's'}"
        shell.line(
            f"{report.counts.counts:,} counts of {report.counts.prompts:,} prompts by {models}: "
            f"{report.counts.new:,} new, {report.counts.changed:,} changed, {same:,} as they were"
        )
        shell.line(f"models       {', '.join(report.counts.models)}", whole=True)
    else:
        left = f", {report.unrewarded:,} without a reward" if report.unrewarded else ""
        rewarded = f"{report.rollouts:,} rollouts with a reward{left}"
        shell.line(f"{rewarded}: {report.new:,} new in {store}, kept as {report.rewards_by}")
    if report.comparison is not None:
        show_comparison(shell, report.comparison)
    if report.curation is not None:
        show_set(shell, report)
    else:
        shell.line(f"no set       {report.why}")
    shell.line(f"next         {say_next(report, settings)}", whole=True)


def show_set(shell: Shell, report: ImportReport) -> None:
    """Show the set that was made, as find-learnable shows one."""
    made = report.curation
    assert made is not None
    totals = made.totals
    shell.line("")
    shell.out.print(tabulate_forms(made))
    kept = f"{totals.kept:,} of {totals.prompts:,} prompts kept"
    shell.line(
        f"\n{kept}: {totals.train:,} to train on, {totals.test:,} held out, "
        f"by {totals.rollouts:,} rollouts, {made.usable_per_rollout:.3f} usable groups a rollout, {made.seconds:.0f} s."
    )
    for line in describe_rejected(made.totals.decisions):
        shell.line(line)
    if made.certified_precision is not None:
        shell.line(
            f"Certified: {made.certified_precision:.0%} of the kept are expected to be truly in the band. "
            f"Forecast: {made.advice}."
        )
    shell.line(f"\ncurated set  {made.curated}", whole=True)


def show_comparison(shell: Shell, found: Comparison) -> None:
    """Show how often the judge and the file differ, and the first completions on which they do."""
    share = found.differing / max(found.compared, 1)
    shell.line(
        f"{found.judge} differs from {found.recorded_by} on {found.differing:,} of {found.compared:,} completions "
        f"({share:.1%}): {found.passes_judge_alone:,} pass by the judge alone, {found.passes_file_alone:,} by the file "
        f"alone{f'; {found.unjudged:,} got no score from the judge' if found.unjudged else ''}"
    )
    for example in found.examples:
        reason = f" ({example.reason})" if example.reason else ""
        shell.line(f"  file {example.recorded:g}, judge {example.judged:g}{reason}")
        shell.line(f"    prompt      {shorten_reason(' '.join(example.prompt.split()), SHOWN)}")
        shell.line(f"    completion  {shorten_reason(' '.join(example.completion.split()), SHOWN)}")


def say_next(report: ImportReport, settings: ImportSettings) -> str:
    """Return what to type next."""
    store = quote(settings.curation.store)
    if report.curation is None or report.counts is not None:
        return f"find-learnable --prompts FILE --store {store}"
    if settings.curation.prompts.verifier is None:
        files = " ".join(map(quote, settings.files))
        return f"learnable import {files} --store {store} --verifier NAME, so that what training writes can be judged"
    own = "".join(f" --verifier {quote(name)}" for name in report.curation.own_verifiers)
    return f"learnable train --curated {quote(report.curation.curated)}{own}"


def to_json(report: ImportReport, store: str) -> JsonObject:
    """Return the report as `--json` prints it: of count tables, what came in stands at the top."""
    return {
        **(asdict(report.counts) if report.counts is not None else {"rollouts": report.rollouts, "new": report.new}),
        "format": report.format,
        "files": list(report.files),
        "rewards_by": report.rewards_by,
        "unrewarded": report.unrewarded,
        "bad_rows": report.bad_rows,
        "store": store,
        "comparison": None if report.comparison is None else asdict(report.comparison),
        "curation": None if report.curation is None else report.curation.to_json(),
        **({"why": report.why} if report.why else {}),
    }
