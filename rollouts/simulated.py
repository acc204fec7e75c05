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
from learnable.data.sources.families.simulated import NOTICE, beta_shapes, draw_beta, find_fault
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SimulatedOptions:
    """How simulated rollouts look besides their outcome.

    `tokens`: what every completion takes. `truncated_share`: the share of completions that use up `max_tokens`
    instead. `group_seconds`: how long a group takes. `failures`: the share of groups at which the engine fails; asked
    again, the group is drawn again.
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
    """An `Engine` that flips each prompt's own coin: "pass" with the chance `spec["rate"]`, else "fail".

    Where the spec has a `spread`, the completion is a reward instead, drawn from the Beta distribution with that mean
    and standard deviation. A rollout depends on its prompt and seed alone, not on order or batching. The options
    (see `SimulatedOptions`) are no part of `policy_id`, so give other ones another store.

    >>> from learnable.data.records import Prompt, Sampling
    >>> prompt = Prompt("simulated prompt 1", "simulated", {"rate": 1.0}, family="simulated", form="Simulated")
    >>> [group] = SimulatedEngine(tokens=20).generate([GroupRequest(prompt, group_size=2)], Sampling())
    >>> [(rollout.completion, rollout.num_tokens) for rollout in group]
    [('pass', 20), ('pass', 20)]
    """

    policy_id = "simulated"
    max_context = 10**9
    notice = NOTICE
    # Of the process, not of the engine: whoever asks again may do so with a fresh engine.
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
        """Yield the groups in the order asked for.

        Raises `LearnableError` for a prompt without a rate, and `EngineError` where a failure is drawn.
        """
        for request in requests:
            draw = _outcomes(request.prompt)
            if self.options.group_seconds:
                time.sleep(self.options.group_seconds)
            self._fail_at_times(request)
            yield self._group(request, draw, sampling)

    def close(self) -> None:
        """Nothing to free."""

    def _group(self, request: GroupRequest, draw: Callable[[int], str], sampling: Sampling) -> list[Rollout]:
        question_id, base_seed, sampling_id = request.prompt.question_id, request.base_seed, sampling.sampling_id
        truncation = ~_key(question_id) & _MASK  # another stream than the outcome's
        share, most = self.options.truncated_share, sampling.max_tokens
        group = []
        for index in range(request.group_size):
            seed = base_seed + index
            cut = self.options.tokens > most or (share > 0 and uniform(truncation, seed) < share)
            rollout = Rollout(
                question_id=question_id,
                policy_id=self.policy_id,
                sampling_id=sampling_id,
                max_tokens=most,
                rollout_index=request.first_index + index,
                completion=draw(seed),
                finish_reason="length" if cut else "stop",
                num_tokens=most if cut else self.options.tokens,
                seed=seed,
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


def mix(key: int, seed: int) -> int:
    """Hash a key and a counter to 64 bits: Steele, Lea and Flood's SplitMix64, ten times faster than `Random(seed)`."""
    bits = (key + seed * 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


def uniform(key: int, seed: int) -> float:
    """Hash a key and a counter to a number in [0, 1)."""
    return (mix(key, seed) >> 11) * 2.0**-53


def _outcomes(prompt: Prompt) -> Callable[[int], str]:
    """Return what draws one completion of `prompt` from a rollout's seed."""
    rate, spread = _population(prompt)
    key = _key(prompt.question_id)
    if spread is None:
        return lambda seed: "pass" if uniform(key, seed) < rate else "fail"
    alpha, beta = beta_shapes(rate, spread)
    return lambda seed: f"{draw_beta(random.Random(mix(key, seed)), alpha, beta):.6f}"


def _population(prompt: Prompt) -> tuple[float, float | None]:
    if "rate" not in prompt.spec:
        raise LearnableError(
            f"{prompt.source}: the simulated engine has no pass rate for {prompt.text[:40]!r}: "
            'use --family simulated, or give each row a spec with one, as in {"rate": 0.3}'
        )
    if found := find_fault(prompt.spec):
        key, fix = found
        raise LearnableError(f"{prompt.source}: spec key {key!r} is {prompt.spec[key]!r}: {fix}")
    return prompt.spec["rate"], prompt.spec.get("spread")


def _key(question_id: str) -> int:
    # Of the question, because the seeds of a million groups overlap.
    return int(question_id[:16], 16)


def _check_option(name: str, value: Any, kind: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise LearnableError(f"simulated engine option {name}={value!r}: give {what} from {low} to {high}")
