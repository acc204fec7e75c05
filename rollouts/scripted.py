"""An engine that answers from a script: for tests of flows, never a stand-in for a policy."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from learnable.data.records import Prompt, Rollout, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest


class ScriptedEngine:
    """Answers each prompt with the completions listed for its text, drawn by the rollout's seed.

    >>> from learnable.data.records import Prompt, Sampling
    >>> prompt = Prompt("2+2=", "arithmetic", {"answer": 4}, family="arithmetic", form="Addition")
    >>> engine = ScriptedEngine({"2+2=": ["4"]})
    >>> [group] = engine.generate([GroupRequest(prompt, group_size=2)], Sampling())
    >>> [rollout.completion for rollout in group]
    ['4', '4']
    """

    policy_id = "scripted"

    def __init__(self, script: Mapping[str, Sequence[str]], max_context: int = 512) -> None:
        self.script = script
        self.max_context = max_context

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """Count a token a word."""
        return [len(prompt.text.split()) for prompt in prompts]

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield the groups in the order of the requests."""
        for request in requests:
            answers = self.script[request.prompt.text]
            yield [self._rollout(request, answers, index, sampling) for index in range(request.group_size)]

    def close(self) -> None:
        """Nothing to free."""

    def _rollout(self, request: GroupRequest, answers: Sequence[str], index: int, sampling: Sampling) -> Rollout:
        completion = random.Random(request.base_seed + index).choice(answers)
        words = completion.split()
        cut = len(words) > sampling.max_tokens
        return request.rollout(
            index,
            " ".join(words[: sampling.max_tokens]) if cut else completion,
            "length" if cut else "stop",
            min(len(words), sampling.max_tokens),
            policy_id=self.policy_id,
            sampling=sampling,
        )
