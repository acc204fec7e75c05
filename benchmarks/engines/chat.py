"""What rendering chat prompts costs: its share of the time in which rollouts are made.

The policy is a tiny instruct one with a real chat template (`learnable.train.policy.instruct`), so that there is little
to hide behind: a larger model makes the same prompts' rollouts more slowly. Prompts are rendered twice, once to see
whether they fit into the context. At most 2 % of the time should go into it.

    python -m benchmarks.engines.chat [--prompts 256] [--group-size 16] [--json FILE]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.figures import make_parser, write_figures
from learnable.data.records import Prompt
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import engine_for
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.curation import ChatSettings
from learnable.rollouts.policy_tokens import encode_prompt
from learnable.train.policy.instruct import make_instruct_policy

BOUND = 0.02
NOTHING: Mapping[str, object] = {}


def measure(prompts: int, group_size: int) -> dict[str, float]:
    """Return the share of rendering in the seconds from the first rendering to the written set."""
    spent: list[float] = []
    begun: list[float] = []

    def timed(tokenizer: Any, prompt: Prompt, template_args: Mapping[str, object] = NOTHING) -> list[int]:
        begun.append(time.perf_counter())
        try:
            return encode_prompt(tokenizer, prompt, template_args)
        finally:
            spent.append(time.perf_counter() - begun[-1])

    with tempfile.TemporaryDirectory() as folder, patch("learnable.rollouts.vllm_engine.encode_prompt", timed):
        settings = CurateSettings(
            prompts=PromptSettings(families=("poetry",), limit=prompts),
            policy=str(make_instruct_policy(Path(folder) / "instruct")),
            chat=ChatSettings(mode="on"),
            budget=SamplingBudget("fixed"),
            group_size=group_size,
            store=f"{folder}/store",
        )
        engine_for(settings)  # loaded before the clock runs
        run_curation(settings)
    rollouts = time.perf_counter() - begun[0]
    return {"rendering_share": sum(spent) / rollouts, "renderings": len(spent), "rollout_seconds": rollouts}


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--prompts", type=int, default=256)
    parser.add_argument("--group-size", type=int, default=16)
    arguments = parser.parse_args()
    figures = measure(arguments.prompts, arguments.group_size)
    print(
        f"rendering takes {figures['rendering_share']:.4f} (at most {BOUND}) of {figures['rollout_seconds']:.1f} s; "
        f"{figures['renderings']:,.0f} renderings"
    )
    write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
