"""How partial the bundled policy's competence is: `python -m benchmarks.policy [--json FILE]`.

Samples the built-in prompts with vLLM at temperature 1 and scores them with their own verifiers. For each
group of prompts it prints the mean pass rate, a histogram of pass rates in ten equal bins, the share of
prompts in the band, and the spread of pass rates between prompts against what noise alone would give. It
exits with status 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev

from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import EngineError, GroupRequest, Refusal
from learnable.rollouts.vllm_engine import VLLMEngine
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from learnable.verifiers.pool.jobs import ScoreJob
from learnable.verifiers.pool.scoring import ScoringPool

BAND = (0.2, 0.8)
BAND_SHARE = (0.25, 0.8)
VARIED_GROUPS = ("arithmetic", "comparison", "counting", "programs", "Verse")
MIN_SD_RATIO = 1.5
HOPELESS, SURE, MIN_SHARE = 0.05, 0.95, 0.1
POOL = "whole pool"
UNTARGETED = ("Villanelle",)


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Pass rates of one group of prompts. `noise_sd` is their SD if all prompts had the group's mean."""

    name: str
    prompts: int
    mean: float
    histogram: list[int]
    in_band: float
    hopeless: float
    sure: float
    sd: float
    noise_sd: float

    @property
    def sd_ratio(self) -> float:
        """SD of the pass rates over the SD that noise alone gives."""
        return self.sd / self.noise_sd if self.noise_sd else 0.0


@dataclass(frozen=True, slots=True)
class Target:
    """One bar the policy must clear."""

    what: str
    value: float
    low: float
    high: float = math.inf

    @property
    def met(self) -> bool:
        """Whether the value lies between the bounds."""
        return self.low <= self.value <= self.high


def main() -> int:
    """Measure, report, and return the exit status."""
    options = read_options()
    groups = draw_groups(options.prompts, options.pool, options.seed)
    rates = measure(options.policy, groups, options.group_size, options.seed)
    reports = [
        describe(name, [rates[prompt.prompt_id] for prompt in prompts], options.group_size)
        for name, prompts in groups.items()
    ]
    targets = list(list_targets(reports))
    print_report(reports, targets)
    if options.json:
        write_json(options.json, reports, targets, vars(options))
    return 0 if all(target.met for target in targets) else 1


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", help="model folder or hub id (default: the bundled policy)")
    parser.add_argument("--prompts", type=int, default=48, help="prompts of each group (default: %(default)s)")
    parser.add_argument("--pool", type=int, default=300, help="prompts of the default mix (default: %(default)s)")
    parser.add_argument("--group-size", type=int, default=16, help="completions of a prompt (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of prompts and samples (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def draw_groups(size: int, pool: int, seed: int) -> dict[str, list[Prompt]]:
    """Return the prompts of every group: a family, or a form of poetry; and the default mix of everything."""
    groups = {}
    for family in DEFAULT_FAMILIES.values():
        if family.name != "poetry":
            groups[family.name] = list(builtin_prompts(families=[family.name], limit=size, seed=seed))
    for form in DEFAULT_FAMILIES["poetry"].forms:
        groups[form] = list(builtin_prompts(forms=[form], limit=size, seed=seed))
    groups[POOL] = list(builtin_prompts(limit=pool, seed=seed))
    return groups


def measure(policy: str | None, groups: dict[str, list[Prompt]], size: int, seed: int) -> dict[str, float]:
    """Return the pass rate of every prompt by its id."""
    prompts = {prompt.prompt_id: prompt for members in groups.values() for prompt in members}
    questions = {prompt.question_id: prompt for prompt in prompts.values()}
    passed = dict.fromkeys(prompts, 0.0)
    engine = VLLMEngine(policy)
    requests = (GroupRequest(prompt, size, seed=seed) for prompt in prompts.values())
    with ScoringPool(workers=2) as pool:
        pool.warm_up({prompt.verifier for prompt in prompts.values()})
        waiting = []
        for rollouts in engine.generate(requests, Sampling()):
            if isinstance(rollouts, Refusal):
                raise EngineError(rollouts.reason)
            prompt = questions[rollouts[0].question_id]
            jobs = [ScoreJob.of(prompt, rollout) for rollout in rollouts]
            waiting.append((prompt.prompt_id, pool.submit(jobs)))
        for prompt_id, scores in waiting:
            passed[prompt_id] = fmean(bool(score.passed) for score in scores.result())
    engine.close()
    return passed


def describe(name: str, rates: Sequence[float], size: int) -> GroupReport:
    """Return the figures of one group from its prompts' pass rates."""
    mean = fmean(rates)
    histogram = [0] * 10
    for rate in rates:
        histogram[min(9, int(rate * 10))] += 1
    return GroupReport(
        name=name,
        prompts=len(rates),
        mean=mean,
        histogram=histogram,
        in_band=fmean(BAND[0] <= rate <= BAND[1] for rate in rates),
        hopeless=fmean(rate <= HOPELESS for rate in rates),
        sure=fmean(rate >= SURE for rate in rates),
        sd=pstdev(rates),
        noise_sd=math.sqrt(mean * (1 - mean) / size),
    )


def list_targets(reports: Sequence[GroupReport]) -> Iterator[Target]:
    """Yield every bar with the value reached."""
    for report in reports:
        if report.name == POOL:
            yield Target(f"{POOL}: share of prompts at <= {HOPELESS}", report.hopeless, MIN_SHARE)
            yield Target(f"{POOL}: share of prompts at >= {SURE}", report.sure, MIN_SHARE)
        elif report.name not in UNTARGETED:
            yield Target(f"{report.name}: share of prompts in the band", report.in_band, *BAND_SHARE)
        if report.name in VARIED_GROUPS:
            yield Target(f"{report.name}: spread over noise", report.sd_ratio, MIN_SD_RATIO)


def print_report(reports: Sequence[GroupReport], targets: Sequence[Target]) -> None:
    """Print the table and what became of each target."""
    print(
        f"{'group':20} {'n':>4} {'mean':>5}  {'pass rates in ten bins':40} {'band':>5} {'<=.05':>5} {'>=.95':>5} "
        f"{'spread':>6}"
    )
    for r in reports:
        bins = " ".join(f"{count:3}" for count in r.histogram)
        print(
            f"{r.name:20} {r.prompts:4} {r.mean:5.2f}  {bins:40} {r.in_band:5.2f} {r.hopeless:5.2f} {r.sure:5.2f} "
            f"{r.sd_ratio:6.2f}"
        )
    for target in targets:
        print(
            f"{'met   ' if target.met else 'MISSED'} {target.what}: {target.value:.2f} ({target.low} to {target.high})"
        )


def write_json(
    path: Path, reports: Sequence[GroupReport], targets: Sequence[Target], options: dict[str, object]
) -> None:
    """Write options, groups and targets as one JSON object."""
    groups = [asdict(report) | {"spread": report.sd_ratio} for report in reports]
    bars = [{"what": t.what, "value": t.value, "low": t.low, "met": t.met} for t in targets]
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    path.write_text(json.dumps({"options": settings, "groups": groups, "targets": bars}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
