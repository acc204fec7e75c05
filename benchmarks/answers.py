"""What judging answers costs: sums in one thread, mathematics in scoring processes beside its in-process time.

- `arithmetic_per_second`: scores of the verifier `arithmetic` in a second of processor time on one core, over distinct
  completions as the bundled policy prints them (a number alone); `chatty_per_second` the same over sentences, boxes and
  calculations, for comparison.
- `mathematics_ratio`: wall clock of `--answers` mathematical answers through a pool of one scoring process over that of
  the same answers in this process, where math-verify's own alarms end what hangs. `--hanging` of them hang. Every
  answer must have a score or a reason, the two ways must agree on all that do not hang, and no process may be left.
  `cpu_ratio` compares processor time, which a busy machine does not change.

Without math-verify a stand-in is judged, and said so: then the figures are of the pool alone.

    python -m benchmarks.answers [--answers 10000] [--hanging 5] [--seed 11] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import make_parser, write_figures
from learnable.verifiers.answers.kinds.mathematics import LIBRARY, PARSER_SECONDS, MathsVerifier
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import find_verifier

TARGETS = {"arithmetic_per_second": "at least 200,000", "mathematics_ratio": "at most 1.3"}
SUMS = 200_000
TURN = 250  # answers that each way judges before the other: a busy machine is as busy for both
FORMS = ("The answer is {}.", "{0} = {0}", r"So it is \boxed{{{}}}.", "#### {}", "3 + 4 = {}", "I get {} apples in all")
HANGING = (r"\boxed{9^{9^{9^{9^{9}}}}}", r"\boxed{10^{10^{10^{10}}}}", r"\boxed{(7^{7^{7^{7}}})!}")
STAND_IN = Path(__file__).with_name("stand_in_for_math_verify.py")


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--hanging", type=int, default=5, help="of the answers")
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    figures: dict[str, float | str] = {
        "arithmetic_per_second": rate_sums(["{}"], arguments.seed),
        "chatty_per_second": rate_sums(FORMS, arguments.seed),
    }
    with tempfile.TemporaryDirectory() as folder:
        stands_in = importlib.util.find_spec(LIBRARY) is None
        if stands_in:
            shutil.copy(STAND_IN, Path(folder, f"{LIBRARY}.py"))
            sys.path.insert(0, folder)
        figures["library"] = "a stand-in" if stands_in else LIBRARY
        jobs = make_jobs(arguments.answers, arguments.hanging, arguments.seed, stands_in)
        figures |= compare_ways(jobs)
    for name, value in figures.items():
        shown = value if isinstance(value, str) else f"{value:,.3f}" if value < 100 else f"{value:,.0f}"
        print(f"{name:24} {shown:>12}  {TARGETS.get(name, '')}")
    write_figures(arguments.json, figures)


def rate_sums(forms: Sequence[str], seed: int) -> float:
    """Return the scores in a second of processor time, over completions no two of which are the same."""
    rng, judge = random.Random(seed), find_verifier("arithmetic")
    numbers = rng.sample(range(-10 * SUMS, 10 * SUMS), SUMS // len(forms))
    cases = [
        (form.format(number), {"answer": number if rng.random() < 0.5 else number + 1})
        for number in numbers
        for form in forms
    ]
    start = time.process_time()
    passed = sum(judge.score(completion, prompt="", spec=spec).passed or False for completion, spec in cases)
    seconds = time.process_time() - start
    if not 0.4 < passed / len(cases) < 0.6:
        raise RuntimeError(f"{passed} of {len(cases)} passed, not half of them")
    return len(cases) / seconds


def make_jobs(count: int, hanging: int, seed: int, stands_in: bool) -> list[ScoreJob]:
    """Return mathematical answers, half of them right, with some in between that hang."""
    rng = random.Random(seed)
    places = set(rng.sample(range(count), hanging))
    return [_hanging_job(rng, stands_in) if place in places else _job(rng) for place in range(count)]


def _job(rng: random.Random) -> ScoreJob:
    one, other = rng.randint(2, 40), rng.randint(2, 40)
    gold, right, wrong = rng.choice(
        [
            (rf"\frac{{{one}}}{{{other}}}", f"{one}/{other}", f"{other}/{one + 1}"),
            (f"x^2 + {one}*x", f"x*(x + {one})", f"x^2 + {other}"),
            (str(one * other), f"{one}*{other}", str(one + other + 1)),
        ]
    )
    text = rf"So the result is \boxed{{{right if rng.random() < 0.5 else wrong}}}."
    return ScoreJob("mathematics", text, "", json.dumps({"answer": gold}))


def _hanging_job(rng: random.Random, stands_in: bool) -> ScoreJob:
    text = r"\boxed{hang}" if stands_in else rng.choice(HANGING)
    return ScoreJob("mathematics", text, "", json.dumps({"answer": "1"}))


def compare_ways(jobs: Sequence[ScoreJob]) -> dict[str, float]:
    """Judge the answers in this process and through a pool of one process, in turns of `TURN`."""
    here, scores, times = [], [], {"in_process": 0.0, "pool": 0.0, "cpu": 0.0}
    children = _cpu(resource.RUSAGE_CHILDREN)
    with ScoringPool(1) as pool:
        for first in range(0, len(jobs), TURN):
            turn = jobs[first : first + TURN]
            start, cpu = time.perf_counter(), _cpu(resource.RUSAGE_SELF)
            here += [judge_here(job) for job in turn]
            times["in_process"] += time.perf_counter() - start
            times["cpu"] += _cpu(resource.RUSAGE_SELF) - cpu
            start = time.perf_counter()
            scores += pool.submit(turn).result()
            times["pool"] += time.perf_counter() - start
    unscored = [score.reason for score in scores if score.verdict == "verifier_error"]
    differ = sum(
        score.verdict == "scored" and score.passed is not found for score, found in zip(scores, here, strict=True)
    )
    return {
        "answers": len(jobs),
        "in_process_s": times["in_process"],
        "pool_s": times["pool"],
        "mathematics_ratio": times["pool"] / times["in_process"],
        "cpu_ratio": (_cpu(resource.RUSAGE_CHILDREN) - children) / times["cpu"],
        "lost": len(jobs) - len(scores),
        "without_a_reward": len(unscored),
        "judged_differently": differ,
    }


def judge_here(job: ScoreJob) -> bool:
    """Judge an answer with math-verify's own time limits, as one would without scoring processes."""
    library: Any = importlib.import_module(LIBRARY)
    spec = json.loads(job.spec_json)
    text = MathsVerifier().read(job.completion, spec=spec).answer or ""
    try:
        gold = library.parse(f"${spec['answer']}$", parsing_timeout=int(PARSER_SECONDS))
        given = library.parse(f"${text}$", parsing_timeout=int(PARSER_SECONDS))
        return bool(gold and given and library.verify(gold, given, timeout_seconds=int(PARSER_SECONDS)))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return False


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
