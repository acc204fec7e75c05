"""Rollouts drawn from pass rates that are known: for planning, teaching and testing, never a stand-in for a policy."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Prompt, Rollout, Sampling
from learnable.data.sources.simulated import NOTICE, beta_shapes, draw_beta, find_fault
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SimulatedOptions:
    """How simulated rollouts look besides their outcome.

    `tokens`: what every completion takes. `truncated_share`: the share of completions that use up `max_tokens`
    instead. `group_seconds`: how long a group takes. `failures`: the share of groups at which the engine fails; when
    such a group is requested again, the failure is drawn again. Raises `LearnableError` for a value out of range.
    """

    tokens: int = 100
    truncated_share: float = 0.0
    group_seconds: float = 0.0
    failures: float = 0.0

    def __post_init__(self) -> None:
        _check_option("tokens", self.tokens, int, 1, 10**6)
        _check_option("truncated_share", self.truncated_share, int | float, 0, 1)
        _check_option("group_seconds", self.group_seconds, int | float, 0, 3600)
        _check_option("failures", self.failures, int | float, 0, 1)


class SimulatedEngine:
    """An `Engine` that answers "pass" with the chance `spec["rate"]` of the prompt, and "fail" otherwise.

    Where the spec has a `spread`, the completion is a reward instead, drawn from the Beta distribution with that mean
    and standard deviation. Where it has `cases`, each of them passes with the chance `rate`, and the completion says
    how many did, as in "2/3". A rollout depends on its prompt and seed alone, not on order or batching. The options
    (see `SimulatedOptions`) are not part of `policy_id`, so use another store for other options.
    Raises `LearnableError` for an option that is unknown or out of range.

    >>> from learnable.data.records import Prompt, Sampling
    >>> prompt = Prompt("simulated prompt 1", "simulated", {"rate": 1.0}, family="simulated", form="Simulated")
    >>> [group] = SimulatedEngine(tokens=20).generate([GroupRequest(prompt, group_size=2)], Sampling())
    >>> [(rollout.completion, rollout.num_tokens) for rollout in group]
    [('pass', 20), ('pass', 20)]
    """

    policy_id = "simulated"
    max_context = 10**9
    notice = NOTICE
    # Of the process, not of the engine: a failed request may be sent again to a new engine.
    _failed: ClassVar[Counter[str]] = Counter()

    def __init__(self, **options: Any) -> None:
        known = [option.name for option in fields(SimulatedOptions)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option of the simulated engine", name, known)
        self.options = SimulatedOptions(**options)

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """Count a token a word."""
        return [len(prompt.text.split()) for prompt in prompts]

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield the groups in the order of the requests.

        Raises `LearnableError` for a prompt without a rate, and `EngineError` where a failure is drawn.
        """
        for request in requests:
            complete = _find_outcomes(request.prompt)
            if self.options.group_seconds:
                time.sleep(self.options.group_seconds)
            self._fail_at_times(request)
            yield self._answer(request, complete, sampling)

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: GroupRequest, complete: Callable[[int], str], sampling: Sampling) -> list[Rollout]:
        truncation = ~_read_key(request.prompt.question_id) & _MASK  # another stream than the outcome's
        share, limit = self.options.truncated_share, sampling.max_tokens
        group = []
        for child in range(request.group_size):
            seed = request.base_seed + child
            is_cut = self.options.tokens > limit or (share > 0 and draw_uniform(truncation, seed) < share)
            rollout = request.rollout(
                child,
                complete(seed),
                "length" if is_cut else "stop",
                limit if is_cut else self.options.tokens,
                policy_id=self.policy_id,
                sampling=sampling,
            )
            group.append(rollout)
        return group

    def _fail_at_times(self, request: GroupRequest) -> None:
        if not self.options.failures:
            return
        name = f"{request.prompt.question_id}:{request.base_seed}"
        attempt = self._failed[name]
        if random.Random(f"{name}:{attempt}").random() < self.options.failures:
            self._failed[name] += 1
            raise EngineError(f"simulated failure at {request.prompt.text!r}, attempt {attempt + 1}")


def mix_bits(key: int, seed: int) -> int:
    """Hash a key and a counter to 64 bits: Steele, Lea and Flood's SplitMix64, ten times faster than `Random(seed)`."""
    bits = (key + seed * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


def draw_uniform(key: int, seed: int) -> float:
    """Hash a key and a counter to a number in [0, 1)."""
    return (mix_bits(key, seed) >> 11) * 2.0**-53


def _find_outcomes(prompt: Prompt) -> Callable[[int], str]:
    """Return the function that maps a rollout's seed to a completion of `prompt`."""
    _check_spec(prompt)
    rate, std, cases = prompt.spec["rate"], prompt.spec.get("spread"), prompt.spec.get("cases")
    key = _read_key(prompt.question_id)
    if cases is not None:
        return lambda seed: f"{_count_passes(mix_bits(key, seed), cases, rate)}/{cases}"
    if std is None:
        return lambda seed: "pass" if draw_uniform(key, seed) < rate else "fail"
    alpha, beta = beta_shapes(rate, std)
    return lambda seed: f"{draw_beta(random.Random(mix_bits(key, seed)), alpha, beta):.6f}"


def _count_passes(key: int, cases: int, rate: float) -> int:
    return sum(draw_uniform(key, case) < rate for case in range(cases))


def _check_spec(prompt: Prompt) -> None:
    if "rate" not in prompt.spec:
        raise LearnableError(
            f"{prompt.source}: the simulated engine has no pass rate for {prompt.text[:40]!r}: "
            'use `families` simulated, or give each row a spec with one, as in {"rate": 0.3}'
        )
    if fault := find_fault(prompt.spec):
        key, fix = fault
        raise LearnableError(f"{prompt.source}: spec key {key!r} is {prompt.spec.get(key)!r}: {fix}")


def _read_key(question_id: str) -> int:
    # Per question, because the seeds of a million groups overlap.
    return int(question_id[:16], 16)


def _check_option(name: str, value: Any, kind: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise LearnableError(f"simulated engine option {name}={value!r}: give {what} from {low} to {high}")
