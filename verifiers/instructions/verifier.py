"""Does a completion do as it was told? Instructions that a program can check, as prompts of IFEval have them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from learnable.data.records import Score, Spec
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.instructions.kinds import ID, INSTRUCTION_KINDS, check_instruction
from learnable.verifiers.instructions.language import UntoldLanguageError
from learnable.verifiers.protocol import check_keys, fault

INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class InstructionsVerifier:
    """Does the completion follow its instructions?

    Spec: `{"instructions": [{"id": "punctuation:no_comma"}, {"id": "keywords:existence", "keywords": ["sea"]}, ...]}`,
    with the ids and arguments of `kinds.KINDS`. Optionally `loose`, by which an instruction is followed where it is
    followed without the asterisks, the first line, the last line, or several of these.

    Reward: the share of instructions that are followed. Passed: all of them are. Each is a component by its id, the
    second of one id with a 2 behind it. An empty answer follows none. Only instructions are judged: an answer that
    follows them and says nothing passes.
    """

    name: str = INSTRUCTIONS
    version: str = "2"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless there are instructions, each with the arguments that it needs."""
        check_keys(spec, [INSTRUCTIONS], ["loose"])
        given = spec[INSTRUCTIONS]
        if not isinstance(given, list | tuple) or not given or not all(isinstance(one, Mapping) for one in given):
            raise fault(INSTRUCTIONS, given, 'give a list of objects, as in [{"id": "punctuation:no_comma"}]')
        for place, one in enumerate(given):
            check_instruction(f"{INSTRUCTIONS}.{place}", one)
        if not isinstance(spec.get("loose", False), bool):
            raise fault("loose", spec["loose"], "give true or false")

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion. What is in a language that cannot be told has no reward (`verifier_error`)."""
        given = spec[INSTRUCTIONS]
        text = unicodedata.normalize("NFC", strip_thinking(completion)).replace("\r\n", "\n")
        readings = list(_loosen(text)) if spec.get("loose") else [text]
        try:
            faults = dict(zip(_names(given), (_find_fault(one, readings) for one in given), strict=True))
        except UntoldLanguageError as error:
            return Score.unscored(str(error))
        followed = {name: float(not why) for name, why in faults.items()}
        reason = "; ".join(f"{name}: {why}" for name, why in faults.items() if why)
        return Score(sum(followed.values()) / len(followed), not reason, followed, reason=reason)


def _names(given: Sequence[Spec]) -> Iterator[str]:
    seen: Counter[str] = Counter()
    for one in given:
        seen[one[ID]] += 1
        yield one[ID] if seen[one[ID]] == 1 else f"{one[ID]} {seen[one[ID]]}"


def _find_fault(given: Spec, readings: Sequence[str]) -> str:
    """Return "" where one of the readings follows an instruction, else what is wrong with the first."""
    find_fault, first = INSTRUCTION_KINDS[given[ID]].find_fault, ""
    for place, text in enumerate(readings):
        try:
            why = find_fault(text, given) if text.strip() else "the answer is empty"
        except UntoldLanguageError as error:
            if not place:
                raise
            why = str(error)  # what is left of an answer that could be told
        if not why:
            return ""
        first = first or why
    return first


def _loosen(text: str) -> Iterator[str]:
    """Yield a text, and what is left without its first line, its last line, both, and the asterisks of each."""
    lines = text.split("\n")
    for part in (text, *("\n".join(some).strip() for some in (lines[1:], lines[:-1], lines[1:-1]))):
        yield part
        if "*" in part:
            yield part.replace("*", "")
