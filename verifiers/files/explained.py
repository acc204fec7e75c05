"""Why an answer scores what it scores: what was read, by which rule, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from learnable.data.records import FinishReason, Spec, canonical_json
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.protocol import extract_answer, has_extractor
from learnable.verifiers.registry import trust_verifier


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """What a verifier made of one completion.

    `rule` is the rule that fired ("" for a verifier that names none), `read` the answer that it found, None where there
    is none; `expected` the right one as the spec has it.
    """

    verifier: str
    rule: str
    read: str | None
    expected: str | None
    reward: float | None
    passed: bool | None
    components: Mapping[str, float]
    verdict: str
    reason: str

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what there is to show, each under its label."""
        if self.rule or self.read is not None or self.expected is not None:  # others read no answer
            yield "rule", self.rule or "-"
            yield "read", "nothing" if self.read is None else self.read
        if self.expected is not None:
            yield "expected", self.expected
        for name, value in self.components.items():
            yield f"  {name}", f"{value:.2f}"
        reward = "none" if self.reward is None else f"{self.reward:.3f}"
        yield "reward", f"{reward}; {'passes' if self.passed else 'does not pass'} ({self.verdict})"
        if self.reason:
            yield "reason", self.reason


def explain_answer(
    verifier: str, completion: str, prompt: str, spec: Spec, finish_reason: FinishReason = "stop"
) -> ExplainedAnswer:
    """Judge one completion by the verifier that a person named, in a process that may hang or die; say what was read.

    Raises `LearnableError` for a verifier that is not known, and for a spec that it cannot use.
    """
    judge = trust_verifier(verifier)
    judge.check_spec(spec)
    with ScoringPool(1) as pool:
        [score] = pool.submit([ScoreJob(verifier, completion, prompt, canonical_json(spec), finish_reason)]).result()
    read = getattr(judge, "read", None)
    if callable(read):
        reading = read(completion, spec=spec)
        answer, rule = reading.answer, reading.rule
    else:
        answer = extract_answer(judge, completion, spec) if has_extractor(judge) else None
        rule = ""
    expected = canonical_json(spec["answer"]) if "answer" in spec else None
    parts = dict(score.components)
    return ExplainedAnswer(
        verifier, rule, answer, expected, score.reward, score.passed, parts, score.verdict, score.reason
    )
