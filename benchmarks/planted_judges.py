"""Judges that are wrong in a way that a training run must show: for `benchmarks.alarms`, whose rewards they are."""

from __future__ import annotations

from collections.abc import Mapping

from learnable.data.records import Score
from learnable.verifiers.registry import find_verifier

SHARE = 0.2  # of the reward that the silent part has


def judge_thanks(completion: str, spec: Mapping[str, object]) -> Score:
    """Return the score of the arithmetic verifier, with a part that no policy of ours ever earns as well."""
    score = find_verifier("arithmetic").score(completion, prompt="", spec=spec)
    if score.reward is None:
        return score
    thanks = float("thank you" in completion.lower())
    reward = (1 - SHARE) * score.reward + SHARE * thanks
    return Score(reward, passed=score.passed, components={**score.components, "thanks": thanks})


def judge_contrary(completion: str, spec: Mapping[str, object]) -> Score:
    """Return the score of the choice verifier with the other of two choices as the right answer.

    `spec` has `answer` and `choices`, a pair of which `answer` is one.
    """
    [other] = (choice for choice in spec["choices"] if choice != spec["answer"])  # type: ignore[attr-defined]
    return find_verifier("choice").score(completion, prompt="", spec={**spec, "answer": other})
