"""How much longer does curating take than a bare `LLM.generate` of the same requests, in the same process?

64 arithmetic and 64 poem prompts, 16 completions each. The engine is started once and is warm; then bare
generation and the whole curation (rollouts, scores in a worker process, statistics, decisions, Parquet,
manifest, card) take turns. Reports the median of each and their ratio, which should be at most 1.15.

    python -m benchmarks.engines.overhead [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TypeVar

from benchmarks.figures import make_parser, write_figures
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.steps import read_prompts
from learnable.flows.engines import engine_for
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine, make_sampling_params

T = TypeVar("T")

BOUND = 1.15


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="rounds of both")
    parser.add_argument("--prompts", type=int, default=128, help="half of them arithmetic, half poems")
    arguments = parser.parse_args()
    figures = measure(arguments.prompts, arguments.repeats)
    print(
        f"bare generate {figures['bare_seconds']:.2f} s, curation {figures['curation_seconds']:.2f} s, "
        f"ratio {figures['ratio']:.3f} (at most {BOUND}), {figures['tokens_per_second']:,.0f} tokens/s bare"
    )
    write_figures(arguments.json, figures)


def measure(prompts: int, repeats: int) -> dict[str, float]:
    """Return medians over `repeats` rounds, in seconds, after one round to warm up."""
    settings = CurateSettings(
        prompts=PromptSettings(families=("arithmetic", "poetry"), limit=prompts), budget=SamplingBudget("fixed")
    )
    engine = engine_for(settings)
    if not isinstance(engine, VLLMEngine):
        raise TypeError("the benchmark compares with vLLM")
    rounds: list[tuple[float, float]] = []
    tokens = 0
    for _ in range(repeats + 1):
        bare, tokens = _timed(lambda: _generate_bare(engine, settings))
        with tempfile.TemporaryDirectory() as store:
            fresh = replace(settings, store=store)
            curation, _ = _timed(partial(run_curation, fresh))
        rounds.append((bare, curation))
        print(f"  bare {bare:.2f} s, curation {curation:.2f} s", flush=True)
    bare_seconds, curation_seconds = (median(column) for column in zip(*rounds[1:], strict=True))
    return {
        "bare_seconds": bare_seconds,
        "curation_seconds": curation_seconds,
        "ratio": median(curation / bare for bare, curation in rounds[1:]),
        "tokens_per_second": tokens / bare_seconds,
    }


def _generate_bare(engine: VLLMEngine, settings: CurateSettings) -> int:
    requests = [GroupRequest(prompt, settings.group_size) for prompt in read_prompts(settings).prompts]
    outputs = engine.llm.generate(
        [request.prompt.text for request in requests],
        [make_sampling_params(request, settings.sampling) for request in requests],
        use_tqdm=False,
    )
    return sum(len(child.token_ids) for output in outputs for child in output.outputs)


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


if __name__ == "__main__":
    main()
