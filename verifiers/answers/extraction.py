r"""What a completion states as its answer, in the forms that people and models use: one reader for every judge.

Read are `\boxed{...}` with nested braces, `#### ...`, `<answer>...</answer>`, and words: "the answer is ...",
"Answer: ...", a heading "Final Answer" with the answer below it. What stands behind a second question is not read: a
base model goes on to the next problem, and answers that too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Form = Literal["boxed", "hashes", "tag", "words", "json", "regex", "letter", "whole"]

MAX_STATED = 500  # characters of one statement that are looked at

_BOXED = re.compile(r"\\f?box(?:ed)?\s*\{")
_BRACE = re.compile(r"[{}]")
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_HASHES = re.compile(r"(?:(?<=\s)|\A)####[ \t]*+([^\s#][^\n]*)")
_TAG = re.compile(r"</?answer>", re.IGNORECASE)
_NAMED = r"(?:answer|ans|(?:correct|right|best|final|my)[ \t]+(?:choice|option|letter|result|count|total|number))"
_OF = r"(?:[ \t]+(?:to|for|of)\b[^\n?!:=]{0,80}?)?"
_WORDS = re.compile(
    rf"(?<![\w-]){_NAMED}\b{_OF}[*_`\"')\]]*[ \t]*"
    r"(?::|=|\u2192|->|\b(?:is|was|equals|(?:would|must|should|will)[ \t]+be)\b[*_]*(?:[ \t]*:)?)[*_]*"
    r"(?!\s*(?:not|n't)\b)\s*",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[#*_ \t]*(?:the[ \t]+)?(?:(?:final|correct)[ \t]+)?answer[*_: \t]*\n\s*", re.IGNORECASE | re.MULTILINE
)
CLAUSE_END = re.compile(r"\n|[.!?](?=\s|$)|;")
_LABEL = re.compile(
    r"^[ \t#*_]*(?:question|q|problem|exercise|task|instruction|human|user)[ \t]*+\d*+[ \t]*+[*_]*+[:.)]",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTION = re.compile(
    r"[^\n]*\?[ \t]*$|(?:work out|compute|calculate|evaluate|solve|find|simplify|what|how|which|who|when|where|count|"
    r"is|are|yes or no|true or false)\b[^\n]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """An answer as it is stated, without white space around it, where it stands, and in which form."""

    text: str
    start: int
    form: Form

    @property
    def end(self) -> int:
        """Where the statement ends."""
        return self.start + len(self.text)

    @property
    def closed(self) -> bool:
        """Whether the form marks its end too, so that all of `text` is the answer."""
        return self.form not in ("hashes", "words")


def find_statements(text: str) -> list[Statement]:
    r"""Return what the text states as its answer, in order; the last one is what it settles on.

    >>> [stated.text for stated in find_statements(r"The answer is 4. No: \boxed{\frac{1}{2}}")]
    ['4', '\\frac{1}{2}']
    """
    found = sorted([*_boxed(text), *_hashed(text), *_tagged(text), *_worded(text)], key=lambda stated: stated.start)
    if found:
        again = next((label.start() for label in _LABEL.finditer(text) if label.start() > found[0].start), len(text))
        found = [stated for stated in found if stated.start < again]
    return found


def split_first_line(text: str) -> tuple[str, bool]:
    r"""Return the first line that is not blank, and whether the next one asks something: a base model that goes on.

    >>> split_first_line("12\nWork out 3 + 4 = 7")
    ('12', True)
    """
    lines = text.lstrip().split("\n", 1)
    after = lines[1].lstrip() if len(lines) > 1 else ""
    return lines[0].rstrip(), bool(_LABEL.match(after) or _QUESTION.match(after.split("\n", 1)[0][:MAX_STATED]))


def strip_latex_text(text: str) -> str:
    r"""Return the text with the words of LaTeX's text commands alone.

    >>> strip_latex_text(r"\text{B}")
    ' B '
    """
    return _LATEX_TEXT.sub(r" \1 ", text)


def _boxed(text: str) -> Iterator[Statement]:
    for opening in _BOXED.finditer(text):
        depth = 1
        for brace in _BRACE.finditer(text, opening.end(), opening.end() + MAX_STATED):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                yield _statement(text, opening.end(), brace.start(), "boxed")
                break


def _hashed(text: str) -> Iterator[Statement]:
    for match in _HASHES.finditer(text):
        yield _statement(text, match.start(1), match.end(1), "hashes")


def _tagged(text: str) -> Iterator[Statement]:
    """Yield what answer tags hold. The last may be open: where a stop sequence cut the closing tag."""
    opened: int | None = None
    for tag in _TAG.finditer(text):
        if tag[0][1] != "/":
            opened = tag.end()
        elif opened is not None:
            yield _statement(text, opened, tag.start(), "tag")
            opened = None
    if opened is not None:
        yield _statement(text, opened, len(text), "tag")


def _worded(text: str) -> Iterator[Statement]:
    for match in (*_WORDS.finditer(text), *_HEADING.finditer(text)):
        end = CLAUSE_END.search(text, match.end(), match.end() + MAX_STATED)
        stated = _statement(text, match.end(), end.start() if end else len(text), "words")
        if stated.text:
            yield stated


def _statement(text: str, start: int, end: int, form: Form) -> Statement:
    stated = text[start : min(end, start + MAX_STATED)]
    return Statement(stated.strip(), start + len(stated) - len(stated.lstrip()), form)
