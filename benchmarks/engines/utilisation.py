"""Is the engine ever idle while a slow verifier works? Programs, each run in a child process for seconds if it loops.

Share of wall clock, from the first request to the last score, in which vLLM has requests running, and in which it
computes; the first should be at least 0.95.

    python -m benchmarks.engines.utilisation [--sampling optimal] [--prompts 256] [--workers 1] [--json FILE]
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

from benchmarks.figures import make_parser, write_figures
from learnable.filters.stopping.budget import SamplingBudget, SamplingMode
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import engine_for
from learnable.flows.sampling.collector import Collector
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.vllm_engine import VLLMEngine

BOUND = 0.95


class Watch:
    """Counts the seconds in which an engine has requests, and those in which it computes."""

    def __init__(self, engine: VLLMEngine) -> None:
        self.core = engine.llm.llm_engine
        self.first = self.running_since = 0.0
        self.running = self.computing = 0.0
        self._step, self._add, self._abort = self.core.step, self.core.add_request, self.core.abort_request
        self.core.step, self.core.add_request, self.core.abort_request = self.step, self.add, self.abort

    def add(self, *arguments: Any, **named: Any) -> Any:
        """Add a request; the engine runs from now on."""
        now = time.perf_counter()
        self.first = self.first or now
        self.running_since = self.running_since or now
        return self._add(*arguments, **named)

    def step(self) -> Any:
        """Compute; after the last request's step the engine rests."""
        started = time.perf_counter()
        outputs = self._step()
        self.computing += time.perf_counter() - started
        self._rest()
        return outputs

    def abort(self, *arguments: Any, **named: Any) -> None:
        """Drop requests; after the last the engine rests."""
        self._abort(*arguments, **named)
        self._rest()

    def _rest(self) -> None:
        if self.running_since and not self.core.has_unfinished_requests():
            self.running += time.perf_counter() - self.running_since
            self.running_since = 0.0


def measure(prompts: int, workers: int, sampling: SamplingMode) -> dict[str, float]:
    """Return the two shares, the seconds that were watched, and how long scoring went on alone at the end."""
    with tempfile.TemporaryDirectory() as store:
        programs = PromptSettings(families=("programs",), limit=prompts)
        settings = CurateSettings(prompts=programs, budget=SamplingBudget(sampling), store=store, workers=workers)
        engine = engine_for(settings)
        if not isinstance(engine, VLLMEngine):
            raise TypeError("the benchmark watches vLLM")
        watch = Watch(engine)
        scored = _note_last_score()
        report = run_curation(settings)
    wall = scored["at"] - watch.first
    return {
        "running_share": watch.running / wall,
        "computing_share": watch.computing / wall,
        "wall_seconds": wall,
        "rollouts": report.totals.rollouts,
        "tokens_per_second": report.totals.tokens / wall,
    }


def _note_last_score() -> dict[str, float]:
    """Return where the time of the last score will stand."""
    scored: dict[str, float] = {}
    finish = Collector.finish

    def finished(self: Collector) -> None:
        finish(self)
        scored["at"] = time.perf_counter()

    Collector.finish = finished  # type: ignore[method-assign]
    return scored


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--prompts", type=int, default=256, help="tasks")
    parser.add_argument(
        "--sampling", choices=("fixed", "optimal"), default="fixed", help="16 programs each, or as needed"
    )
    parser.add_argument("--workers", type=int, default=1, help="scoring processes")
    arguments = parser.parse_args()
    figures = measure(arguments.prompts, arguments.workers, arguments.sampling)
    print(
        f"requests running {figures['running_share']:.3f} of {figures['wall_seconds']:.1f} s (at least {BOUND}), "
        f"computing {figures['computing_share']:.3f}; {figures['rollouts']:,.0f} programs, "
        f"{figures['tokens_per_second']:,.0f} tokens/s"
    )
    write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
