"""Simulated prompts: no question, a known pass rate each, for planning, teaching and testing decisions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeGuard

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Spec
from learnable.data.sources.family import Family, check_knobs, knob, on_scale

NOTICE = "simulated rollouts: no model answered; use them for planning and teaching only."

MAX_CASES = 1000


@dataclass(frozen=True, slots=True)
class SimulatedKnobs:
    """`alpha` and `beta`: pass rates are drawn from this Beta distribution. `spread`: 0 for rewards of 0 and 1.

    A `spread` over 0 is for graded rewards: it is the standard deviation inside the group of a prompt whose rate is
    0.5. Others get `2 * spread * sqrt(rate * (1 - rate))`, so that every rate can have its own. `cases` over 1 is for
    partial credit: so many cases pass independently, each with the prompt's rate, and the reward is 1 if all do, else
    `partial_credit` times the share that does.
    Raises `LearnableError` for a value out of range, and for both ways of grading at once.
    """

    alpha: float = knob(0.3, 0.01, 10_000)
    beta: float = knob(0.3, 0.01, 10_000)
    std: float = knob(0.0, 0, 0.49, name="spread")
    cases: int = knob(1, 1, MAX_CASES)
    partial_credit: float = knob(0.5, 0, 1)

    def __post_init__(self) -> None:
        check_knobs("simulated", self)
        if self.std and self.cases > 1:
            raise LearnableError("family simulated: give spread or cases, not both")


def generate(form: str, seed: int, knobs: SimulatedKnobs) -> Iterator[Prompt]:
    """Yield simulated prompts without end; the first of them do not depend on how many are taken."""
    rng = random.Random(f"{form}:{seed}")
    for number in count(1):
        rate = round(draw_beta(rng, knobs.alpha, knobs.beta), 12)
        yield Prompt(
            prompt=f"simulated prompt {number}",
            verifier="simulated",
            spec=_spec(rate, knobs),
            family="simulated",
            form=form,
            difficulty=on_scale(10 - 9 * rate),
        )


def draw_beta(rng: random.Random, alpha: float, beta: float) -> float:
    """Draw from Beta(alpha, beta). `random.betavariate` underflows to 0 where both shapes are small."""
    gap = _draw_log_gamma(rng, beta) - _draw_log_gamma(rng, alpha)
    return 1 / (1 + math.exp(min(gap, 700.0)))


def beta_shapes(rate: float, std: float) -> tuple[float, float]:
    """Return the shapes of the Beta distribution with mean `rate` and standard deviation `std`.

    By the method of moments: `alpha + beta = rate * (1 - rate) / std**2 - 1`. Where there is no such distribution,
    since `std` is that of a 0/1 reward or more, the shapes are not positive.

    >>> beta_shapes(0.5, 0.25)
    (1.5, 1.5)
    """
    variance = max(std * std, 1e-300)  # a square may underflow
    # Alpha + beta of the narrowest population: six digits of its draws are those of its mean.
    concentration = min(rate * (1 - rate) / variance - 1, 1e14)
    return rate * concentration, (1 - rate) * concentration


def find_fault(spec: Spec) -> tuple[str, str] | None:
    """Return the key of `spec` from which no completion can be drawn, and its fix; or None where all is well."""
    rate = spec.get("rate")
    if not _is_number(rate) or not 0 <= rate <= 1:
        return "rate", "give the chance of a pass, a number from 0 to 1"
    if "cases" in spec or "partial_credit" in spec:
        return _find_fault_of_cases(spec)
    return _find_fault_of_std(spec, rate) if "spread" in spec else None


def judge_cases(passed: int, cases: int, partial_credit: float) -> float:
    """Return the reward where so many of the cases passed: 1 for all of them, else their share, times the credit.

    >>> judge_cases(3, 3, 0.5), judge_cases(1, 2, 0.5)
    (1.0, 0.25)
    """
    return 1.0 if passed == cases else partial_credit * passed / cases


def _find_fault_of_cases(spec: Spec) -> tuple[str, str] | None:
    cases, credit = spec.get("cases"), spec.get("partial_credit")
    if "spread" in spec:
        return "spread", "leave it out: cases and partial_credit say how rewards vary"
    if not isinstance(cases, int) or isinstance(cases, bool) or not 1 <= cases <= MAX_CASES:
        return "cases", f"give how many cases there are, a whole number from 1 to {MAX_CASES}"
    if not _is_number(credit) or not 0 <= credit <= 1:
        return "partial_credit", "give what the share of passed cases is multiplied by, a number from 0 to 1"
    return None


def _find_fault_of_std(spec: Spec, rate: float) -> tuple[str, str] | None:
    std = spec["spread"]
    if not _is_number(std) or not 0 < std < math.inf:
        return "spread", "give a standard deviation over 0, or leave it out for rewards of 0 and 1"
    if rate in (0, 1):
        return "spread", f"leave it out: a mean of {rate:g} allows no spread"
    if min(beta_shapes(rate, std)) <= 0:
        limit = math.sqrt(rate * (1 - rate))
        return "spread", f"give less than {limit:.4g}, the most that a mean of {rate:g} allows"
    return None


def _spec(rate: float, knobs: SimulatedKnobs) -> dict[str, float]:
    if knobs.cases > 1:
        return {"rate": rate, "cases": knobs.cases, "partial_credit": knobs.partial_credit}
    own = 2 * knobs.std * math.sqrt(rate * (1 - rate))
    return {"rate": rate, "spread": own} if own else {"rate": rate}


def _draw_log_gamma(rng: random.Random, shape: float) -> float:
    # Gamma(shape) is Gamma(shape + 1) times U^(1 / shape), and in logarithms nothing underflows.
    return math.log(rng.gammavariate(shape + 1, 1.0)) + math.log(1.0 - rng.random()) / shape


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


SIMULATED_FAMILY = Family("simulated", ("Simulated",), SimulatedKnobs, generate, usual_ranges={"alpha": "0.1..10"})
