"""Does a completion fit a regular expression of the user's?"""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score
from learnable.verifiers.answers.rules import MAX_MATCHED, ExtractedAnswer, check_rule, missing, narrow, rule_of
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.protocol import check_keys, fault

WHERE = ("anywhere", "start", "all")


@dataclass(frozen=True, slots=True)
class RegexVerifier:
    r"""Does the completion fit a regular expression?

    Spec: `{"pattern": text}`, as Python's `re` reads it. Optionally `where`: "anywhere" (the default), at the "start",
    or "all" of it; `thinking`: whether the thinking belongs to what is matched, as for patterns of a whole format;
    `extract`, a rule (see `rules`) for the part that is matched, without which it is all; `reward`, a shape (see
    `rewards.shapes`). A pattern that could take exponential time is refused (see `patterns`).
    """

    name: str = "regex"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the pattern can be used and the options fit."""
        check_keys(spec, ["pattern"], ["where", "thinking", "extract", "reward"])
        if not isinstance(spec["pattern"], str):
            raise fault("pattern", spec["pattern"], "give a regular expression")
        compile_pattern("pattern", spec["pattern"])
        if spec.get("where", WHERE[0]) not in WHERE:
            raise fault("where", spec["where"], f"use one of {', '.join(WHERE)}")
        if not isinstance(spec.get("thinking", False), bool):
            raise fault("thinking", spec["thinking"], "give true or false")
        check_rule(spec)
        check_shape(spec)

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        text, rule = completion if spec.get("thinking") else strip_thinking(completion), rule_of(spec)
        if rule.name != "auto":
            part = narrow(text, rule)
            if part is None:
                reading = ExtractedAnswer(None, rule.name, missing(rule))
                return give_score(JudgedAnswer(completion, prompt, reading, False, 0.0), spec)
            text = part.text
        pattern = compile_pattern("pattern", spec["pattern"])
        match = {"anywhere": pattern.search, "start": pattern.match, "all": pattern.fullmatch}
        hit = match[spec.get("where", WHERE[0])](text[:MAX_MATCHED]) if len(text) <= MAX_MATCHED else None
        long = f"longer than {MAX_MATCHED:,} characters" if len(text) > MAX_MATCHED else "the pattern does not match"
        reading = ExtractedAnswer(text, rule.name, text=text)
        judgement = JudgedAnswer(completion, prompt, reading, hit is not None, float(hit is not None), why=long)
        return give_score(judgement, spec)
