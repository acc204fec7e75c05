"""Is the JSON that a completion gives of the right shape, with the right values in its fields?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learnable.data.records import Score, Spec, canonical_json
from learnable.verifiers.answers.kinds.schema import check_schema, find_misfit, same_json
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score, is_finite
from learnable.verifiers.answers.rules import ExtractedAnswer, check_rule, find_json, missing, narrow, reach, rule_of
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.protocol import SpecError, check_keys, fault

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class JsonVerifier:
    """Is the JSON that the completion gives of the right shape, with the right values?

    Spec: one or several of `{"answer": value}`, which all of it must equal; `{"fields": {"a.b": value, ...}}`, dots
    reaching inside; `{"schema": {...}}`, a JSON Schema with the keywords that `schema` knows. Optionally:

    - `extract`: where it is looked for (see `rules`): `auto`, the default, takes the last value of the last fence of
      Markdown, else the last object or list, or else all of the completion as one value.
    - `partial_credit`: what a completion gets whose JSON fits the schema while only some fields are right: this times
      their share; 0 unless given.
    - `reward`: a shape (see `rewards.shapes`); its `graded` part is the reward without a shape.

    Numbers are the same where they are equal (1 and 1.0), true is not 1. What is no JSON is `extraction_failed`.
    """

    name: str = "json"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the spec says what is right and the options fit."""
        check_keys(spec, [], ["answer", "fields", "schema", "extract", "partial_credit", "reward"])
        if not {"answer", "fields", "schema"} & set(spec):
            raise SpecError(f"spec key 'answer' is missing in {dict(spec)!r}: add it, or 'fields' or 'schema'")
        if "fields" in spec and not (isinstance(spec["fields"], Mapping) and spec["fields"]):
            raise fault("fields", spec["fields"], 'give an object, as in {"total": 12}')
        if "schema" in spec:
            check_schema(spec["schema"])
        credit = spec.get("partial_credit", 0)
        if not is_finite(credit) or not 0 <= credit <= 1:
            raise fault("partial_credit", credit, "give a number from 0 to 1")
        check_rule(spec)
        check_shape(spec)

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the JSON that counts, as canonical JSON, with the rule that found it."""
        return self._read(completion, spec)[0]

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the JSON that counts, equal values as equal text, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        reading, value = self._read(completion, spec)
        if reading.answer is None:
            return give_score(JudgedAnswer(completion, prompt, reading, False, 0.0), spec)
        misfit = find_misfit(value, spec["schema"]) if "schema" in spec else ""
        wrong = [field for field, right in spec.get("fields", {}).items() if not _has(value, field, right)]
        differs = "answer" in spec and not same_json(value, spec["answer"])
        passed = not misfit and not wrong and not differs
        share = 1 - len(wrong) / len(spec["fields"]) if "fields" in spec and not misfit else 0.0
        why = f"schema: {misfit}" if misfit else f"wrong: {', '.join(wrong)}" if wrong else ""
        graded = 1.0 if passed else spec.get("partial_credit", 0) * share
        judgement = JudgedAnswer(completion, prompt, reading, passed, graded, why=why)
        return give_score(judgement, spec)

    def _read(self, completion: str, spec: Spec) -> tuple[ExtractedAnswer, Any]:
        # The last characters of a long completion.
        text, rule = strip_thinking(completion)[-200_000:], rule_of(spec)
        if rule.name == "auto":
            for value, _, _ in find_json(text):
                return ExtractedAnswer(canonical_json(value), "json"), value
            if (value := _parse(text)) is _ABSENT:
                return ExtractedAnswer(None, "auto", "no JSON found"), None
            return ExtractedAnswer(canonical_json(value), "whole"), value
        part = narrow(text, rule)
        value = _ABSENT if part is None else _parse(part.text)
        if value is _ABSENT:
            return ExtractedAnswer(None, rule.name, missing(rule) if part is None else "no JSON there"), None
        return ExtractedAnswer(canonical_json(value), rule.name), value


def _parse(text: str) -> Any:
    text = text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _ABSENT


def _has(value: Any, field: str, right: Any) -> bool:
    try:
        return same_json(reach(value, field), right)
    except KeyError:
        return False
