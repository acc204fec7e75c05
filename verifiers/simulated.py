"""The judge of simulated completions: it reads the outcome that was drawn, for no model answered."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.records import Score, Spec
from learnable.data.sources.simulated import NOTICE, find_fault, judge_cases
from learnable.verifiers.protocol import check_keys, fault

OUTCOMES = {"pass": True, "fail": False}


@dataclass(frozen=True, slots=True)
class SimulatedVerifier:
    """What was drawn: "pass" or "fail"; where the spec has a `spread`, a reward from 0 to 1; or how many cases passed.

    Spec: `{"rate": p}`, the mean reward, and optionally `spread`, its standard deviation inside a group: a graded
    completion passes from 0.5. Or `{"rate": p, "cases": K, "partial_credit": c}`: K cases pass independently with
    chance p each, as in "2/3"; the reward is 1 if all do, else c times their share. Anything else was not drawn here,
    and gets no score.
    """

    name: str = "simulated"
    version: str = "1"
    notice: str = NOTICE

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless completions can be drawn with this rate, and spread or cases."""
        check_keys(spec, ["rate"], ["spread", "cases", "partial_credit"])
        if wrong := find_fault(spec):
            key, fix = wrong
            raise fault(key, spec.get(key), fix)

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Read one completion."""
        if "cases" in spec:
            return _judge_cases(completion, spec["cases"], spec["partial_credit"])
        if "spread" in spec:
            reward = _read_reward(completion)
            if reward is None:
                return Score.unscored(f"not simulated: {completion[:40]!r} is no reward from 0 to 1")
            return _judged(reward, reward >= 0.5)
        if (passed := OUTCOMES.get(completion)) is None:
            return Score.unscored(f"not simulated: {completion[:40]!r} is neither 'pass' nor 'fail'")
        return _judged(float(passed), passed)


def _judge_cases(completion: str, cases: int, partial_credit: float) -> Score:
    passed, _, of = completion.partition("/")
    if of != str(cases) or not (passed.isascii() and passed.isdigit()) or int(passed) > cases:
        return Score.unscored(f"not simulated: {completion[:40]!r} does not say how many of {cases} cases passed")
    return _judged(judge_cases(int(passed), cases, partial_credit), int(passed) == cases)


def _judged(reward: float, passed: bool) -> Score:
    return Score(reward, passed, reason="" if passed else "drawn so")


def _read_reward(text: str) -> float | None:
    try:
        reward = float(text)
    except ValueError:
        return None
    return reward if 0 <= reward <= 1 else None
