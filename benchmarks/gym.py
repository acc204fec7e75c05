"""What judging reasoning-gym's answers costs, and whether it is hidden behind an engine that makes the next ones.

- `overlap_ratio`: wall clock of an engine's chunks with scoring beside them, over that of the longer of the two alone.
  The engine is asleep for as long as a chunk takes to be judged, which is the worst case: either hides behind the
  other, and what is left is the first chunk's making and the last one's judgement. `behind_ratio` is the same without
  overlap, for comparison.
- `answers_per_second`: of wall clock, by one scoring process, over all data sets, half of the answers right.

    python -m benchmarks.gym [--answers 4200] [--chunks 20] [--seed 11] [--json FILE]
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from itertools import islice

from benchmarks.figures import make_parser, write_figures
from learnable.data.records import Prompt
from learnable.data.sources.gym.prompts import gym_prompts
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

TARGETS = {"overlap_ratio": "at most 1.2"}
VERIFIER = "reasoning-gym"


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--answers", type=int, default=4200)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    prompts = list(islice(gym_prompts(f"{VERIFIER}:*", arguments.seed), 210))
    jobs = make_jobs(prompts, arguments.answers, arguments.seed)
    figures = compare_ways(jobs, arguments.chunks)
    for name, value in figures.items():
        print(f"{name:24} {value:>12,.3f}  {TARGETS.get(name, '')}")
    write_figures(arguments.json, figures)


def make_jobs(prompts: Sequence[Prompt], count: int, seed: int) -> list[ScoreJob]:
    """Return answers to the prompts in turn, half of them right and half another prompt's."""
    rng = random.Random(seed)
    known = [prompt for prompt in prompts if prompt.spec["answer"]]
    questions = [known[number % len(known)] for number in range(count)]
    given = [prompt if rng.random() < 0.5 else rng.choice(known) for prompt in questions]
    return [
        ScoreJob(VERIFIER, f"<answer>{other.spec['answer']}</answer>", prompt.text, prompt.spec_json)
        for prompt, other in zip(questions, given, strict=True)
    ]


def compare_ways(jobs: Sequence[ScoreJob], chunks: int) -> dict[str, float]:
    """Judge the answers alone, then in chunks that an engine makes, one by one and beside each other."""
    size = -(-len(jobs) // chunks)
    parts = [jobs[first : first + size] for first in range(0, len(jobs), size)]
    with ScoringPool(1) as pool:
        pool.submit(jobs).result()  # loads the data sets
        start = time.perf_counter()
        scores = pool.submit(jobs).result()
        alone = time.perf_counter() - start
        if any(score.reward is None for score in scores):
            raise RuntimeError("some answers have no reward")
        times = {True: 0.0, False: 0.0}
        for overlaps in times:
            start = time.perf_counter()
            pending = []
            for part in parts:
                time.sleep(alone / len(parts))  # the engine makes them
                pending.append(pool.submit(part))
                if not overlaps:
                    pending[-1].result()
            for future in pending:
                future.result()
            times[overlaps] = time.perf_counter() - start
    return {
        "answers_per_second": len(jobs) / alone,
        "overlap_ratio": times[True] / alone,
        "behind_ratio": times[False] / alone,
        "passed": sum(bool(score.passed) for score in scores) / len(scores),
    }


if __name__ == "__main__":
    main()
