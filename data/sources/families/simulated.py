"""Simulated prompts: no question, a known pass rate each, for planning, teaching and testing decisions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeGuard

from learnable.data.records import Prompt, Spec
from learnable.data.sources.family import Family, on_scale, require

NOTICE = "simulated rollouts: no model answered; use them for planning and teaching only."
FORM = "Simulated"
MAX_CONCENTRATION = 1e14  # alpha + beta of the narrowest population: six digits of its draws are those of its mean


@dataclass(frozen=True, slots=True)
class SimulatedKnobs:
    """`alpha` and `beta`: pass rates are drawn from this Beta distribution. `std`: 0 for rewards of 0 and 1.

    A `std` over 0 is for graded rewards: it is the standard deviation inside the group of a prompt whose rate is 0.5.
    Others get `2 * std * sqrt(rate * (1 - rate))`, so that every rate can have its own. Users and specs call it
    `spread`.
    """

    alpha: float = 0.3
    beta: float = 0.3
    std: float = field(default=0.0, metadata={"knob": "spread"})

    def __post_init__(self) -> None:
        require("simulated", "alpha", self.alpha, 0.01, 10_000)
        require("simulated", "beta", self.beta, 0.01, 10_000)
        require("simulated", "spread", self.std, 0, 0.49)


def generate(form: str, seed: int, knobs: SimulatedKnobs) -> Iterator[Prompt]:
    """Yield simulated prompts without end; the first of them do not depend on how many are taken."""
    rng = random.Random(f"{form}:{seed}")
    for number in count(1):
        rate = round(draw_beta(rng, knobs.alpha, knobs.beta), 12)
        yield Prompt(
            prompt=f"simulated prompt {number}",
            verifier="simulated",
            spec=_spec(rate, knobs.std),
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
    concentration = min(rate * (1 - rate) / variance - 1, MAX_CONCENTRATION)
    return rate * concentration, (1 - rate) * concentration


def find_fault(spec: Spec) -> tuple[str, str] | None:
    """Return the key of `spec` from which no completion can be drawn, and its fix; or None where all is well."""
    rate, std = spec.get("rate"), spec.get("spread")
    if not _is_number(rate) or not 0 <= rate <= 1:
        return "rate", "give the chance of a pass, a number from 0 to 1"
    if "spread" not in spec:
        return None
    if not _is_number(std) or not 0 < std < math.inf:
        return "spread", "give a standard deviation over 0, or leave it out for rewards of 0 and 1"
    if rate in (0, 1):
        return "spread", f"leave it out: a mean of {rate:g} allows no spread"
    if min(beta_shapes(rate, std)) <= 0:
        limit = math.sqrt(rate * (1 - rate))
        return "spread", f"give less than {limit:.4g}, the most that a mean of {rate:g} allows"
    return None


def _spec(rate: float, std: float) -> dict[str, float]:
    own = 2 * std * math.sqrt(rate * (1 - rate))
    return {"rate": rate, "spread": own} if own else {"rate": rate}


def _draw_log_gamma(rng: random.Random, shape: float) -> float:
    # Gamma(shape) is Gamma(shape + 1) times U^(1 / shape), and in logarithms nothing underflows.
    return math.log(rng.gammavariate(shape + 1, 1.0)) + math.log(1.0 - rng.random()) / shape


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


SIMULATED = Family("simulated", (FORM,), SimulatedKnobs, generate)
