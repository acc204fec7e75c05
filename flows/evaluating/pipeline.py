"""The order of an evaluation: its prompts, completions of one policy or two, figures, comparison."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import SIMULATED_VERIFIER, Sampling
from learnable.flows.engines import policy_for
from learnable.flows.evaluating.completions import Measured, fix_budget, measure_policy
from learnable.flows.evaluating.report import EvalReport, OtherPolicy, read_eval_report
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.evaluation import EvalSettings, find_set_store, name_store
from learnable.train.preflight.shards import find_changed_verifiers
from learnable.train.results.comparison import pair_prompts
from learnable.train.results.evaluation import SEED_OFFSET, Evaluation, HeldOutPrompts, read_held_out
from learnable.train.results.figures import summarise, summarise_changes, write_verdict
from learnable.verifiers.registry import trust_verifiers


def run_evaluation(settings: EvalSettings) -> EvalReport:
    """Measure a policy on a set's held-out prompts, compare it with another where one is given, and return the report.

    An evaluation is a function of its settings and of the rewards, and its completions are in the store: the same call
    goes on where an earlier one stopped. Raises `LearnableError` for bad input before anything is sampled.
    """
    started = time.monotonic()
    trust_verifiers(settings.verifiers)
    curated = open_curated(settings.curated)
    held_out = _read_prompts(settings, curated)
    names = sorted({prompt.verifier for prompt in held_out.prompts})
    for warning in find_changed_verifiers(curated.manifest, dict.fromkeys(names, f"curated set {str(curated.path)!r}")):
        progress().warn(warning)
    run_settings = make_run_settings(settings, curated)
    run_settings.engine.check()
    policy_for(run_settings)
    other = _find_other(settings, run_settings)
    theirs = measure_policy(other, held_out, greedy=settings.greedy) if isinstance(other, CurateSettings) else other
    measured = measure_policy(run_settings, held_out, greedy=settings.greedy)
    report = _build_report(settings, curated, run_settings.sampling, measured, theirs)
    return replace(report, seconds=round(time.monotonic() - started, 2))


def make_run_settings(settings: EvalSettings, curated: CuratedSet) -> CurateSettings:
    """Return the settings under which the policy answers: the set's sampling, and the store of the evaluations.

    Raises `LearnableError` where a simulation would answer real prompts, or a model simulated ones.
    """
    manifest = curated.manifest
    is_simulated = manifest.engine == SIMULATED_VERIFIER
    if (settings.engine.name == SIMULATED_VERIFIER) != is_simulated:
        raise LearnableError(
            f"curated set {str(curated.path)!r} was made by engine {manifest.engine or 'unknown'!r}, and `engine` "
            f"{settings.engine.name} cannot answer its prompts: {'add' if is_simulated else 'leave out'} "
            "`engine` simulated"
        )
    named = settings.policy or ((manifest.policy.name or None) if settings.engine.loads_policies else None)
    return fix_budget(
        CurateSettings(
            prompts=PromptSettings(families=(SIMULATED_VERIFIER,) if is_simulated else ()),
            policy=named,
            engine=settings.engine,
            sampling=settings.sampling_from(Sampling() if manifest.find_absent(("sampling",)) else manifest.sampling),
            seed=settings.seed + SEED_OFFSET,
            store=name_store(settings.store or _find_store(curated), settings.seed),
            name="evaluation",
            workers=settings.workers,
            score_on=settings.score_on,
            verifier_timeout=settings.verifier_timeout,
            wait=settings.wait,
        ),
        settings.group_size,
    )


def _read_prompts(settings: EvalSettings, curated: CuratedSet) -> HeldOutPrompts:
    held_out = read_held_out(curated, settings.held_out, settings.families, settings.limit)
    if not held_out.prompts:
        raise LearnableError(
            f"curated set {str(curated.path)!r} holds out no prompts: curate more, or raise `test_share`"
            + (", or give `held_out` pool" if settings.held_out == "kept" else "")
        )
    return held_out


def _find_other(settings: EvalSettings, run_settings: CurateSettings) -> CurateSettings | Measured | None:
    """Return how the other policy is measured, or what was measured of it before."""
    if settings.against is None:
        return None
    if settings.against.endswith(".json") and Path(settings.against).is_file():
        return Measured(read_eval_report(Path(settings.against), run_settings.sampling), 0)
    if not settings.engine.loads_policies:
        raise LearnableError(
            f"`engine` {settings.engine.name} has one policy, so `against` {settings.against} cannot be asked: "
            "evaluate that one first with `output` FILE.json, and give that file to `against`"
        )
    other = replace(run_settings, policy=settings.against)
    policy_for(other)
    return other


def _find_store(curated: CuratedSet) -> str:
    store = find_set_store(curated.path)
    if store is None:
        raise LearnableError(f"curated set {str(curated.path)!r} lies in no store: give `store`")
    return store


def _build_report(
    settings: EvalSettings, curated: CuratedSet, sampling: Sampling, measured: Measured, theirs: Measured | None
) -> EvalReport:
    evaluation = measured.evaluation
    return EvalReport(
        curated=str(curated.path),
        policy_id=evaluation.policy_id,
        held_out=settings.held_out,
        sampling=sampling,
        group_size=settings.group_size,
        k=settings.ks[-1],
        confidence=settings.confidence,
        seed=settings.seed,
        figures=summarise(evaluation.prompts, ks=settings.ks, confidence=settings.confidence, seed=settings.seed),
        against=_compare(settings, evaluation, theirs.evaluation) if theirs else None,
        tokens=evaluation.tokens,
        generated=measured.generated + (theirs.generated if theirs else 0),
        seconds=0.0,
        prompts=evaluation.prompts,
    )


def _compare(settings: EvalSettings, own: Evaluation, theirs: Evaluation) -> OtherPolicy:
    pairs = pair_prompts(theirs, own)
    if not pairs:
        raise LearnableError(
            f"`against` {settings.against} has no prompt in common with this evaluation: nothing to pair"
        )
    ks, confidence, seed = settings.ks, settings.confidence, settings.seed
    changes = summarise_changes(pairs, ks=ks, confidence=confidence, seed=seed)
    figures = summarise([early for early, _ in pairs], ks=ks, confidence=confidence, seed=seed)
    return OtherPolicy(theirs.policy_id, figures, changes, write_verdict(changes[0], confidence))
