"""The 25 kinds of instructions of IFEval (Zhou et al. 2023, arXiv 2311.07911), by their public ids and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from learnable.data.errors import nearest_names
from learnable.data.records import Spec
from learnable.verifiers.instructions import layout, wording
from learnable.verifiers.instructions.arguments import (
    COUNT,
    LANGUAGE_CODE,
    POSITION,
    RELATION,
    SIGN,
    TEXT,
    TEXT_LIST,
    Argument,
)
from learnable.verifiers.protocol import fault

ID = "id"


@dataclass(frozen=True, slots=True)
class InstructionKind:
    """One kind: `find_fault` returns "" for an answer that follows it, `arguments` are all that it needs, by name."""

    find_fault: Callable[[str, Spec], str]
    arguments: Mapping[str, Argument] = field(default_factory=dict)


INSTRUCTION_KINDS: Mapping[str, InstructionKind] = {
    "keywords:existence": InstructionKind(wording.has_keywords, {"keywords": TEXT_LIST}),
    "keywords:frequency": InstructionKind(
        wording.has_keyword_often, {"keyword": TEXT, "frequency": COUNT, "relation": RELATION}
    ),
    "keywords:forbidden_words": InstructionKind(wording.has_no_forbidden_word, {"forbidden_words": TEXT_LIST}),
    "keywords:letter_frequency": InstructionKind(
        wording.has_letter_often, {"letter": SIGN, "let_frequency": COUNT, "let_relation": RELATION}
    ),
    "language:response_language": InstructionKind(wording.is_in_language, {"language": LANGUAGE_CODE}),
    "length_constraints:number_sentences": InstructionKind(
        layout.has_sentences, {"num_sentences": COUNT, "relation": RELATION}
    ),
    "length_constraints:number_paragraphs": InstructionKind(layout.has_paragraphs, {"num_paragraphs": POSITION}),
    "length_constraints:number_words": InstructionKind(layout.has_words, {"num_words": COUNT, "relation": RELATION}),
    "length_constraints:nth_paragraph_first_word": InstructionKind(
        layout.has_first_word, {"num_paragraphs": POSITION, "nth_paragraph": POSITION, "first_word": TEXT}
    ),
    "detectable_content:number_placeholders": InstructionKind(layout.has_placeholders, {"num_placeholders": COUNT}),
    "detectable_content:postscript": InstructionKind(layout.has_postscript, {"postscript_marker": TEXT}),
    "detectable_format:number_bullet_lists": InstructionKind(layout.has_bullets, {"num_bullets": COUNT}),
    "detectable_format:constrained_response": InstructionKind(layout.is_an_option),
    "detectable_format:number_highlighted_sections": InstructionKind(layout.has_highlights, {"num_highlights": COUNT}),
    "detectable_format:multiple_sections": InstructionKind(
        layout.has_sections, {"section_spliter": TEXT, "num_sections": COUNT}
    ),
    "detectable_format:json_format": InstructionKind(layout.is_json),
    "detectable_format:title": InstructionKind(layout.has_title),
    "combination:two_responses": InstructionKind(layout.has_two_responses),
    "combination:repeat_prompt": InstructionKind(wording.repeats_prompt, {"prompt_to_repeat": TEXT}),
    "startend:end_checker": InstructionKind(wording.ends_with_phrase, {"end_phrase": TEXT}),
    "startend:quotation": InstructionKind(wording.is_quoted),
    "change_case:capital_word_frequency": InstructionKind(
        wording.has_capital_words, {"capital_frequency": COUNT, "capital_relation": RELATION}
    ),
    "change_case:english_capital": InstructionKind(wording.is_all_capitals),
    "change_case:english_lowercase": InstructionKind(wording.is_all_lowercase),
    "punctuation:no_comma": InstructionKind(wording.has_no_comma),
}


def check_instruction(key: str, given: Spec) -> None:
    """Raise `SpecError` unless an instruction has a known id and just the arguments that it needs.

    `key` is what messages call it. Arguments of null are as good as none: tables give each row the columns of all.
    """
    name = str(given.get(ID))
    if name not in INSTRUCTION_KINDS:
        near = nearest_names(name, INSTRUCTION_KINDS)
        fix = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(INSTRUCTION_KINDS)}"
        raise fault(f"{key}.{ID}", given.get(ID), f"no such instruction; {fix}")
    wanted = INSTRUCTION_KINDS[name].arguments
    for argument, value in given.items():
        if argument != ID and argument not in wanted and value is not None:
            takes = ", ".join(wanted) or "none"
            raise fault(f"{key}.{argument}", value, f"no argument of {name!r}, which takes {takes}")
    for argument, rule in wanted.items():
        value = given.get(argument)
        if not rule.fits(value):
            lacking = f"{name!r} needs it: " if value is None else ""
            raise fault(f"{key}.{argument}", value, lacking + rule.fix)
    if "nth_paragraph" in wanted and given["nth_paragraph"] > given["num_paragraphs"]:
        fix = f"there are {given['num_paragraphs']} paragraphs: give one of them"
        raise fault(f"{key}.nth_paragraph", given["nth_paragraph"], fix)
