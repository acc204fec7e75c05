"""What a curation run says at its end, as plain data for the console, `--json` and the Prefect artifact."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.sources.selection import PromptSet
from learnable.filters.decisions.forecast import Forecast, advise
from learnable.filters.statistics.forms import count_decisions, summarise
from learnable.flows.curation.goal import judge_goal
from learnable.flows.curation.inspection import Inspection
from learnable.flows.run import Run
from learnable.flows.sampling.collected import Collected

Report = dict[str, Any]


def build_report(
    run: Run,
    prompts: PromptSet,
    decided: pl.DataFrame,
    curated: CuratedSet,
    collected: Collected,
    inspection: Inspection,
    *,
    seconds: float,
) -> Report:
    """Return the run's report: ids and paths, a row a form, totals, forecasts, seconds of wall clock."""
    forms = summarise(decided.lazy()).collect().to_dicts()
    families = summarise(decided.lazy(), by=("family",)).collect().to_dicts()
    kept = decided.filter(pl.col("decision") == "keep")
    goal = judge_goal(run.settings, decided.height, kept.height, gave_up=collected.gave_up)
    return {
        "run_id": run.run_id,
        "policy": curated.manifest["policy"]["policy_id"],
        "engine": curated.manifest["engine"],
        "curated": str(curated.path),
        "goal": None if goal is None else asdict(goal) | {"reached": goal.reached},
        "certified_precision": kept["p_keep"].mean(),
        "forecast": curated.manifest["forecast"],
        "advice": advise([Forecast(**row) for row in curated.manifest["forecast"]["curated"]]),
        "beliefs": curated.manifest["beliefs"],
        "findings": [asdict(finding) for finding in inspection.findings],
        "triage": dict(sorted(inspection.triage["triage"].cast(pl.String).value_counts().iter_rows())),
        "forms": forms,
        "families": families,
        "totals": {
            **_count(decided, curated),
            "duplicates": prompts.duplicates,
            "bad_rows": prompts.bad_rows,
            "generated": collected.generated,
            "errors": sum(form["errors"] or 0 for form in forms),
        },
        "seconds": round(seconds, 2),
    }


def _count(decided: pl.DataFrame, curated: CuratedSet) -> dict[str, Any]:
    decisions, parts = count_decisions(decided.lazy()), curated.manifest["parts"]
    return {
        "prompts": decided.height,
        "kept": decisions.get("keep", 0),
        "train": parts["train"]["rows"],
        "test": parts["test"]["rows"],
        "rollouts": int(decided["rollouts"].sum()),
        "tokens": int(decided["tokens"].sum()),
        "truncated": int(decided["n_truncated"].sum() or 0),
        "decisions": decisions,
    }


def find_warnings(report: Report) -> list[str]:
    """Return plain sentences about what would make training on this set go sideways."""
    totals, warnings = report["totals"], []
    if report["goal"] and not report["goal"]["reached"]:
        goal = report["goal"]
        warnings.append(f"{goal['got']} prompts kept, not the {goal['want']} that were wanted: {goal['why']}")
    if unfitted := [name for name, prior in report["beliefs"].items() if not prior["fitted_to"]]:
        warnings.append(f"too few groups to fit a prior, so Beta(.5, .5) stands in for it: {', '.join(unfitted)}")
    if totals["kept"] == 0:
        warnings.append(
            "nothing was kept: the pool is too easy or too hard for this policy, or the verifier never moves"
        )
    if totals["errors"]:
        warnings.append(f"{totals['errors']} rollouts have no honest score and were left out, not counted as zero")
    if totals["truncated"] > 0.1 * max(totals["rollouts"], 1):
        warnings.append(
            f"{totals['truncated']} of {totals['rollouts']} completions ran out of tokens: raise --max-tokens, "
            "or leave them out with --truncated exclude"
        )
    if doubtful := report["triage"].get("bad_label"):
        warnings.append(
            f"{doubtful} prompts were never solved although their answers agree: check their labels (triage in rejects)"
        )
    warnings += [finding["text"] for finding in report["findings"]]
    return warnings


def render_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    totals = report["totals"]
    lines = [
        f"**{totals['kept']} of {totals['prompts']} prompts kept** for `{report['policy']}` in `{report['curated']}`.",
        "",
        "| form | prompts | mean | within-std | between-std | zero-std share | pass@1 | kept |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("mean", "within_std", "between_std", "zero_std_share", "pass_at_1")
    for form in report["forms"]:
        cells = ["-" if form[key] is None else f"{form[key]:.2f}" for key in keys]
        lines.append(f"| {form['form']} | {form['prompts']} | {' | '.join(cells)} | {form['kept']} |")
    if report["certified_precision"] is not None:
        lines += [
            "",
            f"{report['certified_precision']:.0%} of the kept are expected to be truly in the band; {report['advice']}.",
        ]
    lines += ["", *(f"- {warning}" for warning in find_warnings(report))]
    return "\n".join(lines)
