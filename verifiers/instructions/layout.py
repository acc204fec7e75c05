"""Instructions about the parts of an answer: how many there are, and how they are marked.

Each function returns "" where an answer, which is never empty, follows the instruction, else why it does not.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from learnable.data.records import Spec
from learnable.verifiers.instructions.arguments import AT_LEAST, compare
from learnable.verifiers.instructions.counting import (
    count_sentences,
    count_words,
    split_at_blank_lines,
    split_at_dividers,
)

CONSTRAINED_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")

_PLACEHOLDER = re.compile(r"\[([^\[\]\n]+)\](?!\()")  # but for the links of Markdown
_BULLET = re.compile(r"^[ \t]*[*+-][ \t]++(?![*+ \t-]*$)\S", re.MULTILINE)  # a line of marks alone is a divider
_HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,3})(?![\s*])[^*\n]*?(?<![\s*])\1(?!\*)")
_TITLE = re.compile(r"<<([^<>\n]+)>>")
_SIX_STARS = re.compile(r"(?<!\*)\*{6}(?!\*)")
_FENCE = re.compile(r"```[A-Za-z]*\s*(.*?)```", re.DOTALL)
_NOT_LETTERS = re.compile(r"[\W_]+")
_WORD_ENDS = re.compile(r"[.,;:?!'\"\u2019\u201d)]")


def has_sentences(text: str, given: Spec) -> str:
    """Sentences are as many as `relation` and `num_sentences` say."""
    return compare(count_sentences(text), "sentences", given["num_sentences"], given["relation"])


def has_words(text: str, given: Spec) -> str:
    """Words are as many as `relation` and `num_words` say."""
    return compare(count_words(text), "words", given["num_words"], given["relation"])


def has_paragraphs(text: str, given: Spec) -> str:
    """The divider "***" parts it in `num_paragraphs`, none of them empty."""
    parts = split_at_dividers(text)
    if not all(parts):
        return "nothing between two dividers"
    return _exactly(len(parts), "paragraphs", given["num_paragraphs"])


def has_first_word(text: str, given: Spec) -> str:
    """Blank lines part it in `num_paragraphs`, and `nth_paragraph`, from 1 on, begins with `first_word`."""
    parts, nth = split_at_blank_lines(text), given["nth_paragraph"]
    if len(parts) != given["num_paragraphs"]:
        return _exactly(len(parts), "paragraphs", given["num_paragraphs"])
    word = _WORD_ENDS.split(parts[nth - 1].split()[0].lstrip("'\"\u2018\u201c("))[0]  # of "It's" the word "It"
    return "" if word.casefold() == given["first_word"].strip().casefold() else f"paragraph {nth} begins with {word!r}"


def has_placeholders(text: str, given: Spec) -> str:
    """At least `num_placeholders` stand in square brackets, as in [address]."""
    count = sum(map(_says_something, _PLACEHOLDER.findall(text)))
    return compare(count, "placeholders", given["num_placeholders"], AT_LEAST)


def has_postscript(text: str, given: Spec) -> str:
    """A postscript begins with `postscript_marker`, and says something."""
    marker = given["postscript_marker"].strip()
    return "" if _postscript_pattern(marker).search(text) else f"no postscript behind {marker!r}"


@lru_cache(maxsize=256)
def _postscript_pattern(marker: str) -> re.Pattern[str]:
    """Return the pattern of a postscript: of "P.S." and "P.P.S" spaces between and the last full stop may differ."""
    letters = marker.replace(".", "").replace(" ", "")
    known = letters.upper() in ("PS", "PPS") and "." in marker
    text = r"\.\s?".join(letters) + r"\.?" if known else re.escape(marker)
    return re.compile(rf"(?:^[ \t*_>#\"'(-]*|(?<=\s)){text}(?![^\W_])(?=[\W_]*[^\W_])", re.IGNORECASE | re.MULTILINE)


def has_bullets(text: str, given: Spec) -> str:
    """It has exactly `num_bullets` bullet points of Markdown."""
    return _exactly(len(_BULLET.findall(text)), "bullet points", given["num_bullets"])


def is_an_option(text: str, given: Spec) -> str:
    """It has one of the three public options, and no other."""
    said = [option for option in CONSTRAINED_ANSWERS if option in text]
    if len(said) == 1:
        return ""
    return f"it has {' and '.join(map(repr, said))}" if said else "none of the options"


def has_highlights(text: str, given: Spec) -> str:
    """At least `num_highlights` parts stand between asterisks, as in *this*."""
    count = sum(1 for _ in _HIGHLIGHT.finditer(text))
    return compare(count, "highlighted parts", given["num_highlights"], AT_LEAST)


def has_sections(text: str, given: Spec) -> str:
    """At least `num_sections` lines begin with `section_spliter` and a number, each with another one."""
    numbers = set(_section_pattern(given["section_spliter"].strip()).findall(text))
    return compare(len(numbers), "sections", given["num_sections"], AT_LEAST)


@lru_cache(maxsize=256)
def _section_pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"^[^\w\n]*{re.escape(word)}\s?(\d+)", re.MULTILINE)


def is_json(text: str, given: Spec) -> str:
    """All of it is one JSON object or list; a fence of Markdown may stand around it."""
    text = text.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return "it is not JSON"
    return "" if isinstance(value, dict | list) else "it is JSON of one value, and neither object nor list"


def has_title(text: str, given: Spec) -> str:
    """A title stands in double angular brackets, as in <<poem of joy>>."""
    titled = any(map(_says_something, _TITLE.findall(text)))
    return "" if titled else "no title in double angular brackets"


def has_two_responses(text: str, given: Spec) -> str:
    """Six asterisks part two responses that differ in their words."""
    parts = [_NOT_LETTERS.sub(" ", part).strip().casefold() for part in _SIX_STARS.split(text)]
    if not all(parts[1:-1]):
        return "nothing between two separators"
    said = [part for part in parts if part]
    if len(said) != 2:
        return _exactly(len(said), "responses", 2)
    return "the two responses are the same" if said[0] == said[1] else ""


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))


def _exactly(count: int, what: str, wanted: int) -> str:
    return "" if count == wanted else f"{count} {what}, not {wanted}"
