"""What a curation run says at its end, for the console, `--json` and the Prefect artifact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.curated.manifest import FamilyPriorRecord, Finding, Forecasts, PredictionRecord, SummaryRow
from learnable.data.curated.record import to_plain
from learnable.data.plain_text import quote_markdown
from learnable.data.records import JsonObject
from learnable.data.sources.selection import PromptSet
from learnable.filters.decisions.forecast import advise
from learnable.filters.statistics.forms import count_decisions, summarise
from learnable.flows.curation.chat import render_first
from learnable.flows.curation.goal import Goal, judge_goal
from learnable.flows.curation.inspection import Inspection, with_unread
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected
from learnable.train.results.report import TrainingReport

MANY_TRUNCATED = 0.1  # a share of the completions
MANY_UNREAD = 0.2  # likewise
FORMS_NAMED = 5


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all forms.

    `prompts` looked at, `kept` of them, in `train` and in `test`; `rollouts` and their `tokens`, `truncated` of them;
    prompts by `decisions`; exact `duplicates` and `bad_rows` left out; rollouts `generated` by this run; rollouts
    without an honest score (`errors`); tokens of the thoughts before answers (`reasoning_tokens`); stored rollouts that
    were made ahead for idle engines and enter no decision (`unneeded`).
    """

    prompts: int
    kept: int
    train: int
    test: int
    rollouts: int
    tokens: int
    truncated: int
    decisions: Mapping[str, int]
    duplicates: int
    bad_rows: int
    generated: int
    errors: int
    reasoning_tokens: int = 0
    unneeded: int = 0


@dataclass(frozen=True, slots=True)
class CurationReport:
    """What a run came to: ids and paths, a row a form and a family, totals, forecasts, seconds of wall clock.

    `policy` is the policy's id, `curated` the published version's path. `certified_precision` is the expected share of
    kept prompts that are truly in the band, None where nothing was kept. `usable_per_rollout` is what the set is worth
    to training: groups of `group_size` that are not zero-std, one from each kept prompt, for each rollout that was
    paid. `triage` counts why prompts were never solved. `own_verifiers` are those of users' own, which whoever trains
    names again. `rendered_prompt` is one prompt as the policy sees it. `predictions` say how pass rates were predicted,
    of the families where they were. `training` is what training on the set came to, None where there was none.
    """

    run_id: str
    policy: str
    engine: str
    curated: str
    goal: Goal | None
    certified_precision: float | None
    usable_per_rollout: float
    forecast: Forecasts
    advice: str
    family_priors: Mapping[str, FamilyPriorRecord]
    findings: tuple[Finding, ...]
    triage: Mapping[str, int]
    forms: tuple[SummaryRow, ...]
    families: tuple[SummaryRow, ...]
    totals: Totals
    seconds: float
    own_verifiers: tuple[str, ...] = ()
    rendered_prompt: str = ""
    predictions: Mapping[str, PredictionRecord] = field(default_factory=dict)
    training: TrainingReport | None = None

    def to_json(self) -> JsonObject:
        """Return the report as `--json` prints it; there are `training` and `predictions` only where there was one."""
        return {
            "run_id": self.run_id,
            "policy": self.policy,
            "engine": self.engine,
            "curated": self.curated,
            "goal": None if self.goal is None else to_plain(self.goal) | {"reached": self.goal.reached},
            "certified_precision": self.certified_precision,
            "usable_groups_per_rollout": self.usable_per_rollout,
            "forecast": to_plain(self.forecast),
            "advice": self.advice,
            "beliefs": to_plain(self.family_priors),
            "findings": to_plain(self.findings),
            "triage": dict(self.triage),
            "forms": to_plain(self.forms),
            "families": to_plain(self.families),
            "totals": {
                name: value
                for name, value in to_plain(self.totals).items()
                if value or name not in ("reasoning_tokens", "unneeded")  # said where there are any
            },
            "seconds": self.seconds,
            **({"rendered_prompt": self.rendered_prompt} if self.rendered_prompt else {}),
            **({"predictions": to_plain(self.predictions)} if self.predictions else {}),
            **({} if self.training is None else {"training": self.training.to_json()}),
        }


def build_report(
    run: Run,
    prompts: PromptSet,
    decided: pl.DataFrame,
    curated: CuratedSet,
    collected: Collected,
    inspection: Inspection,
    *,
    seconds: float,
) -> CurationReport:
    """Return the run's report. `decided` has a row a prompt, as `decide_groups` returns them."""
    forms, manifest = with_unread(summary_rows(decided, "family", "form"), inspection.unread), curated.manifest
    kept = decided.select("decision", "p_keep", "usable_at_g").filter(pl.col("decision") == "keep")
    precision, rollouts = kept["p_keep"].mean(), int(decided["rollouts"].sum())
    return CurationReport(
        run_id=run.run_id,
        policy=manifest.policy.policy_id,
        engine=manifest.engine,
        curated=str(curated.path),
        goal=judge_goal(run.settings, decided.height, kept.height, gave_up=collected.gave_up),
        certified_precision=precision if isinstance(precision, float) else None,
        usable_per_rollout=round(float(kept["usable_at_g"].sum()) / max(rollouts, 1), 4),
        forecast=manifest.forecast,
        advice=advise(manifest.forecast.curated),
        family_priors=manifest.family_priors,
        findings=inspection.findings,
        triage=count_triage(decided, inspection.triage),
        own_verifiers=tuple(manifest.verifier_sources or ()),
        forms=forms,
        families=with_unread(summary_rows(decided, "family"), inspection.unread),
        totals=_count(decided, curated, prompts, collected, errors=sum(row.errors or 0 for row in forms)),
        seconds=round(seconds, 2),
        rendered_prompt=render_first(run.settings, run.policy, prompts.prompts),
        predictions=manifest.predictions or {},
    )


def list_figures(report: CurationReport) -> dict[str, float]:
    """Return what a tracker hears at the end: spend and yield, and the expected precision where prompts were kept."""
    totals = report.totals
    figures = {
        "kept": totals.kept,
        "kept_share": totals.kept / max(totals.prompts, 1),
        "usable_groups_per_rollout": report.usable_per_rollout,
        "rollouts": totals.rollouts,
        "new_rollouts": totals.generated,
        "tokens": totals.tokens,
        "errors": totals.errors,
        "seconds": report.seconds,
    }
    precision = report.certified_precision
    return figures if precision is None else {**figures, "certified_precision": precision}


def count_triage(decided: pl.DataFrame, triage: pl.DataFrame) -> dict[str, int]:
    """Count why rejected prompts were never solved. A prompt with graded rewards may be kept though none passed.

    `decided` has a row a prompt, with its `decision`; `triage` one for each prompt that was never solved.
    """
    rejected = decided.filter(pl.col("decision") != "keep")
    causes = triage.join(rejected, on="prompt_id", how="semi")
    return dict(sorted(causes["triage"].cast(pl.String).value_counts().iter_rows()))


def summary_rows(decided: pl.DataFrame, *by: str) -> tuple[SummaryRow, ...]:
    """Summarise decided prompts: a row for each value of the columns `by`, in the order of their names."""
    return tuple(SummaryRow(**row) for row in summarise(decided.lazy(), by=by).collect().to_dicts())


def _count(
    decided: pl.DataFrame, curated: CuratedSet, prompts: PromptSet, collected: Collected, *, errors: int
) -> Totals:
    decisions, parts = count_decisions(decided.lazy()), curated.manifest.parts
    return Totals(
        prompts=decided.height,
        kept=decisions.get("keep", 0),
        train=parts["train"].rows,
        test=parts["test"].rows,
        rollouts=int(decided["rollouts"].sum()),
        tokens=int(decided["tokens"].sum()),
        truncated=int(decided["n_truncated"].sum() or 0),
        decisions=decisions,
        duplicates=prompts.duplicates,
        bad_rows=prompts.bad_rows,
        generated=collected.generated,
        errors=errors,
        reasoning_tokens=collected.reasoning_tokens,
        unneeded=collected.unneeded,
    )


def find_warnings(report: CurationReport) -> list[str]:
    """Return plain sentences about what would make training on this set go sideways."""
    return [*_warn_of_priors(report), *_warn_of_counts(report), *(finding.text for finding in report.findings)]


def _warn_of_priors(report: CurationReport) -> Iterator[str]:
    if report.goal and not report.goal.reached:
        yield f"{report.goal.got} prompts kept, not the {report.goal.want} that were wanted: {report.goal.why}"
    if unfitted := [name for name, prior in report.family_priors.items() if not prior.fitted_to]:
        yield f"too few groups to fit a prior, so Beta(.5, .5) stands in for it: {', '.join(unfitted)}"


def _warn_of_counts(report: CurationReport) -> Iterator[str]:
    totals = report.totals
    if totals.kept == 0:
        yield "nothing was kept: the pool is too easy or too hard for this policy, or the verifier never moves"
    if totals.errors:
        yield f"{totals.errors} rollouts have no honest score and were left out, not counted as zero"
    if totals.truncated > MANY_TRUNCATED * max(totals.rollouts, 1):
        yield (
            f"{totals.truncated} of {totals.rollouts} completions ran out of tokens: raise `max_tokens`, "
            "or leave them out with `truncated` exclude"
        )
    unread = [f"{row.form} {row.extraction_failed_share:.0%}" for row in report.forms if is_unread(row)]
    if unread:
        more = f" and {len(unread) - FORMS_NAMED} more forms" if len(unread) > FORMS_NAMED else ""
        yield (
            f"no answer could be read in many completions: {', '.join(unread[:FORMS_NAMED])}{more}. Ask for the answer "
            "in one of the known ways, or name the rule that finds it (`extract` in the spec); `learnable show "
            "--reason extraction_failed` has examples"
        )
    if doubtful := report.triage.get("bad_label"):
        yield (
            f"{doubtful} prompts were never solved although their answers agree: check their labels (triage in rejects)"
        )


def is_unread(row: SummaryRow) -> bool:
    """Say whether many completions of a form hold no answer that could be read."""
    return (row.extraction_failed_share or 0.0) > MANY_UNREAD


def describe_outcome(report: CurationReport) -> str:
    """Return what a run came to, in a sentence."""
    totals = report.totals
    thought = f", {totals.reasoning_tokens:,} of them thought" if totals.reasoning_tokens else ""
    unneeded = f", {totals.unneeded:,} more made ahead and not needed" if totals.unneeded else ""
    return (
        f"{totals.kept} of {totals.prompts} prompts kept: {totals.train} to train on, {totals.test} held out. "
        f"{totals.rollouts:,} rollouts, {totals.generated:,} of them new, {totals.tokens:,} tokens{thought}{unneeded}, "
        f"{report.usable_per_rollout:.3f} usable groups a rollout, "
        f"{report.seconds:.0f} s."
    )


def describe_predictions(report: CurationReport) -> list[str]:
    """Return sentences on each family whose pass rates were predicted: from what, how well, and what it saved."""
    return [_describe_prediction(name, record) for name, record in report.predictions.items()]


def _describe_prediction(family: str, record: PredictionRecord) -> str:
    known = f" ({', '.join(record.known_rates)}: solve rates of other models)" if record.known_rates else ""
    text = (
        f"Pass rates of {family} were predicted from {', '.join(record.sources)}{known}: that explains "
        f"{record.deviance_explained:.0%} of the deviance of groups that are left out, and splits the family into "
        f"{len(record.strata)} strata. "
    )
    if record.rejected and record.audit_found is not None and record.audit_predicted is not None:
        text += (
            f"{record.rejected:,} prompts were rejected without a rollout; of {record.audited:,} like them that were "
            f"sampled the mean reward is {record.audit_found:.3f} (predicted {record.audit_predicted:.3f}) and "
            f"{record.audit_in_band or 0.0:.1%} are in the band. "
        )
    saved = record.usual_rollouts - record.rollouts
    return text + (
        f"{record.rollouts:,} rollouts, where about {record.usual_rollouts:,} are expected without a prediction"
        f"{f': {saved / record.usual_rollouts:.0%} saved' if saved > 0 else ''}."
    )


def render_markdown(report: CurationReport) -> str:
    """Return the report as Markdown."""
    totals = report.totals
    lines = [
        f"**{totals.kept} of {totals.prompts} prompts kept** for {quote_markdown(report.policy)} in "
        f"{quote_markdown(report.curated)}.",
        "",
        "| form | prompts | expected within-group variance | mean | within-std | between-std | zero-std share | pass@1 "
        "| unread | kept |",
        f"|{' --- |' * 10}",
    ]
    for row in report.forms:
        figures = (
            row.expected_within_variance,
            row.mean,
            row.within_std,
            row.between_std,
            row.zero_std_share,
            row.pass_at_1,
            row.extraction_failed_share,
        )
        cells = ["-" if figure is None else f"{figure:.2f}" for figure in figures]
        lines.append(f"| {quote_markdown(row.form)} | {row.prompts} | {' | '.join(cells)} | {row.kept} |")
    if report.certified_precision is not None:
        share = f"{report.certified_precision:.0%} of the kept are expected to be truly in the band"
        lines += ["", f"{share}; {report.advice}."]
    lines += [f"\n{quote_markdown(text)}" for text in describe_predictions(report)]
    lines += ["", *(f"- {quote_markdown(warning)}" for warning in find_warnings(report))]
    return "\n".join(lines)
