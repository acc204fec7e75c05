"""Runs the same curation in several ways on one warm engine, and notes what each wanted of it.

    python -m tests.faults.growth_for_tests FOLDER

After each step there are FOLDER/<step>.parquet, the rollouts of the store, and FOLDER/<step>.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from learnable.data.records import Sampling
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation import pipeline, steps
from learnable.flows.engines import engine_for
from learnable.flows.sampling import engine_loop as rollout
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, Engine, GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine
from learnable.verifiers.registry import find_verifier
from tests.faults.stores_for_tests import rollouts

FAMILIES = ("arithmetic", "counting")
PROMPTS, SMALL, LARGE = 48, 8, 16
LOW, HIGH = Sampling(max_tokens=2), Sampling(max_tokens=24)

requested: list[tuple[str, int, int]] = []  # prompt, index, seed of each rollout
engines: list[Engine] = []
generate = VLLMEngine.generate


def noted_engine(settings: CurateSettings) -> Engine:
    engines.append(engine_for(settings))
    return engines[-1]


def noted(self: VLLMEngine, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
    def pass_on() -> Iterator[GroupRequest]:
        for request in requests:
            keys = ((request.first_index + i, request.base_seed + i) for i in range(request.group_size))
            requested.extend((request.prompt.question_id, index, seed) for index, seed in keys)
            yield request

    return generate(self, pass_on(), sampling)


def bump(verifiers: Iterable[str]) -> None:
    for name in verifiers:
        verifier: Any = find_verifier(name)
        object.__setattr__(verifier, "version", verifier.version + "+mended")


def main(folder: Path) -> None:
    wanted = PromptSettings(families=FAMILIES, limit=PROMPTS)
    base = CurateSettings(
        prompts=wanted, group_size=SMALL, budget=SamplingBudget("fixed"), sampling=LOW, store=str(folder / "store")
    )

    def step(name: str, settings: CurateSettings) -> None:
        requested.clear()
        engines.clear()
        report = pipeline.run_curation(settings)
        rollouts(folder / "store").write_parquet(folder / f"{name}.parquet")
        said = {"requested": requested, "used_an_engine": bool(engines), "totals": asdict(report.totals)}
        (folder / f"{name}.json").write_text(json.dumps(said))

    step("first", base)
    step("again", base)
    step("larger", replace(base, group_size=LARGE))
    step("smaller", base)
    step("longer", replace(base, group_size=LARGE, sampling=HIGH))
    step("shorter", replace(base, group_size=LARGE))
    step("longer again", replace(base, group_size=LARGE, sampling=HIGH))
    bump(FAMILIES)
    step("bumped", replace(base, group_size=LARGE, sampling=HIGH))


if __name__ == "__main__":
    steps.engine_for = noted_engine  # type: ignore[attr-defined]
    rollout.engine_for = noted_engine  # type: ignore[attr-defined]
    VLLMEngine.generate = noted  # type: ignore[method-assign]
    main(Path(sys.argv[1]))
