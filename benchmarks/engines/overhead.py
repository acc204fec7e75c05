"""How much longer does curating take than a bare `LLM.generate` of the same requests, in the same process?

Prompts of some families, half of each; 16 completions each, or as many as the default mode draws. The engine is started
once and is warm; then the whole curation (rollouts, scores in a worker process, statistics, decisions, Parquet,
manifest, card) and bare generation of the requests that it made take turns. Reports the median of each and their ratio,
which should be at most 1.15, and the same of processor seconds, workers' among them, which other programs on the
machine disturb less.

    python -m benchmarks.engines.overhead [--sampling optimal] [--family arithmetic | --form Sonnet] [--prompts 128]
        [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TypeVar

from benchmarks.figures import make_parser, write_figures
from learnable.data.records import Sampling
from learnable.filters.posterior.fitting import fit_smooth_once
from learnable.filters.stopping.budget import SamplingBudget, SamplingMode
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import engine_for
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts import vllm_engine
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine, make_sampling_params

T = TypeVar("T")

BOUND = 1.15


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="rounds of both")
    parser.add_argument("--prompts", type=int, default=128, help="of all families together")
    parser.add_argument("--sampling", choices=("fixed", "optimal"), default="fixed")
    parser.add_argument("--family", action="append", help="repeatable; arithmetic and poetry, unless given")
    parser.add_argument("--form", action="append", help="repeatable, in place of families: Sonnet has long completions")
    arguments = parser.parse_args()
    forms = tuple(arguments.form or ())
    families = tuple(arguments.family or (() if forms else ("arithmetic", "poetry")))
    drawn = PromptSettings(forms=forms, families=families, limit=arguments.prompts)
    figures = measure(drawn, arguments.repeats, arguments.sampling)
    print(
        f"bare generate {figures['bare_seconds']:.2f} s, curation {figures['curation_seconds']:.2f} s, "
        f"ratio {figures['ratio']:.3f} (at most {BOUND}), {figures['tokens_per_second']:,.0f} tokens/s bare; "
        f"processor {figures['bare_processor_seconds']:.2f} s and {figures['curation_processor_seconds']:.2f} s, ratio "
        f"{figures['processor_ratio']:.3f}; {figures['rollouts']:,.0f} rollouts of "
        f"{figures['tokens_per_completion']:.1f} tokens"
    )
    write_figures(arguments.json, figures)


def measure(prompts: PromptSettings, repeats: int, sampling: SamplingMode) -> dict[str, float]:
    """Return medians over `repeats` rounds, in seconds, after one round to warm up."""
    settings = CurateSettings(prompts=prompts, budget=SamplingBudget(sampling))
    engine = engine_for(settings)
    if not isinstance(engine, VLLMEngine):
        raise TypeError("the benchmark compares with vLLM")
    requests = _note_requests()
    rounds: list[tuple[float, float, float, float]] = []
    tokens = rollouts = 0
    for _ in range(repeats + 1):
        requests.clear()
        fit_smooth_once.cache_clear()  # a run has a process of its own
        with tempfile.TemporaryDirectory() as store:
            curation, curation_processor, _ = _timed(partial(run_curation, replace(settings, store=store)))
        bare, bare_processor, tokens = _timed(lambda: _generate_bare(engine, settings, requests))
        rollouts = sum(request.group_size for request in requests)
        rounds.append((bare, curation, bare_processor, curation_processor))
        print(f"  bare {bare:.2f} s, curation {curation:.2f} s", flush=True)
    medians = [median(column) for column in zip(*rounds[1:], strict=True)]
    return {
        "bare_seconds": medians[0],
        "curation_seconds": medians[1],
        "ratio": median(curation / bare for bare, curation, *_ in rounds[1:]),
        "bare_processor_seconds": medians[2],
        "curation_processor_seconds": medians[3],
        "processor_ratio": median(curation / bare for *_, bare, curation in rounds[1:]),
        "tokens_per_second": tokens / medians[0],
        "tokens_per_completion": tokens / rollouts,
        "rollouts": rollouts,
    }


def _note_requests() -> list[GroupRequest]:
    """Return a list that will have each request that vLLM is given."""
    noted: list[GroupRequest] = []
    make = vllm_engine.make_sampling_params

    def note(request: GroupRequest, sampling: Sampling) -> object:
        noted.append(request)
        return make(request, sampling)

    vllm_engine.make_sampling_params = note
    return noted


def _generate_bare(engine: VLLMEngine, settings: CurateSettings, requests: Sequence[GroupRequest]) -> int:
    outputs = engine.llm.generate(
        [request.prompt.text for request in requests],
        [make_sampling_params(request, settings.sampling) for request in requests],
        use_tqdm=False,
    )
    return sum(len(child.token_ids) for output in outputs for child in output.outputs)


def _timed(call: Callable[[], T]) -> tuple[float, float, T]:
    """Return seconds of wall clock and of processors, those of children that have ended among them."""
    started, spent = time.perf_counter(), _processor_seconds()
    result = call()
    return time.perf_counter() - started, _processor_seconds() - spent, result


def _processor_seconds() -> float:
    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
