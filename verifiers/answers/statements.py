"""Whether a completion states one known answer, where nothing says what else it could have stated."""

from __future__ import annotations

import re

from learnable.verifiers.answers.extraction import (
    MAX_STATED,
    find_statements,
    fold_signs,
    split_first_line,
    strip_latex_text,
)

EXPLANATION_WORDS = 4  # words that make a line an explanation rather than another answer

_FILLER = re.compile(
    r"(?:(?:so|thus|therefore|hence|well|okay|ok|sure|it['\u2019]?s|it is|that['\u2019]?s|that is|this is|"
    r"I (?:think|believe|say|choose|pick|would say|would go with)|I['\u2019]d (?:say|go with|choose|pick)|"
    r"the|in|at|on|of|option|choice|letter|answer|clearly|definitely)\b[\s,:]*)+",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"an?\s+", re.IGNORECASE)
_REASON = re.compile(
    r",?\s+(?:because|since|as|rather than|instead of|not)\b|,\s*(?:which|so|not)\b|"
    r"\s+\(|\s[-\u2013\u2014]\s|[.!?](?=\s|$)|\n",
    re.IGNORECASE,
)
_OTHER_LABEL = re.compile(r"\b[A-Za-z][).:](?=\s+\w)|\bor\s+[A-Za-z](?!\w)")
_OR_ELSE = re.compile(r"[\s,;.(\u2013\u2014-]*(?:or|and/or|maybe|perhaps|possibly)\b", re.IGNORECASE)
_NEXT_LETTER = re.compile(r"[\s.,;:/|()\[\]*_`\"']*(?:(?:or|and)\b[\s(\[*_`\"']*)?[A-Za-z](?!\w|['\u2019]\w| [a-z])")
_IN_A_LIST = re.compile(
    r"[\s*_(\[]*[A-Za-z](?!\w)[)\].*_]*\s*(?:\Z|[,;/|&]|(?:and|or)\s+[(*_]*[A-Za-z](?!\w)|[(\[*_]*[A-Za-z](?!\w))"
)
_JOINED = re.compile(r"(?:[|/&+]\s*|[\u2013\u2014-]\s+)[(\[*_]*[A-Za-z](?!\w| [a-z])")  # "(A) | (B)" lists letters
_AND = re.compile(r"and\b", re.IGNORECASE)
_NEW_LABEL = re.compile(r"[\s*_(]*[A-Za-z][*_]*[).:]")
_COMMA = (
    r",\s+(?!(?:or|and|nor|but|though|although|unless|not|no|wait|actually|maybe|perhaps|possibly|then|rather)\b)"
    r"(?=[^\W\d_]{2})"
)
_SPACE = re.compile(r"\s+")
_WRAPPING = " \t\n*_`$()[]{}<>\"'.,:;!?"


def find_stated_answer(text: str, answer: str) -> str | None:
    """Return the answer, case folded, where the text states it; what it states instead; or None.

    The last explicit statement counts; without one, a completion that is nearly the answer alone, or has it alone on a
    first line with an explanation below.
    """
    text = _SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", strip_latex_text(fold_signs(text)))
    line, goes_on = split_first_line(text)
    if goes_on and _is_answer(line, answer):
        return answer.casefold()
    if stated := find_statements(text):
        last = stated[-1]
        return _settled(last.text, text[last.end :] if not last.closed else "", answer)
    rest = [other for other in text.strip().split("\n")[1:] if other.strip()]
    if len(answer.strip()) == 1 and any(_NEW_LABEL.match(other) for other in rest):
        return None
    if all(len(other.split()) >= EXPLANATION_WORDS for other in rest) and _is_answer(line, answer):
        return answer.casefold()
    return None


def _settled(stated: str, behind: str, answer: str) -> str | None:
    if _is_answer(stated, answer):
        return None if len(answer.strip()) == 1 and _NEXT_LETTER.match(behind) else answer.casefold()
    other = _core(_REASON.split(stated, maxsplit=1)[0], answer)
    # A longer answer is not worth naming.
    return other if other and len(other) <= 80 and other != answer.casefold() else None


def _is_answer(text: str, answer: str) -> bool:
    """Say whether a text is the answer, with only filler, a reason, or the letter's meaning around it."""
    wanted = _core(answer, answer)
    text = text.strip()[: MAX_STATED + len(answer)]
    cut = _REASON.search(text)
    if wanted == _core(text, answer):
        return True
    if len(answer.strip()) == 1 and (label := _find_label(text, answer.strip())):
        return not (
            _OTHER_LABEL.search(text, label)
            or _OR_ELSE.match(text, label)
            or _AND.match(text, label)
            or _IN_A_LIST.match(text, label)
            or _JOINED.match(text, label)
        )
    if not cut or wanted != _core(text[: cut.start()], answer) or _OR_ELSE.match(text, cut.start()):
        return False
    if len(wanted) == 1 and _NEXT_LETTER.match(text, cut.start()):
        return False
    rest = re.split(r"[.!?]", text[cut.end() :], maxsplit=1)[0]
    return cut[0] not in ".!?\n" or len(rest.split()) >= EXPLANATION_WORDS


def _find_label(text: str, letter: str) -> int:
    """Return where the words begin that a letter stands for, as in "B. Vitamin C", 0 where there are none."""
    sign = rf"(?:\s?[).:\]]+[*_]*\s+|\s?[-\u2013\u2014]\s+|\s\(|{_COMMA})(?=[^\s*_])"
    label = re.match(rf"[\s*_(\[]*{re.escape(letter)}{sign}", text, re.IGNORECASE)
    return label.end() if label else 0


def _core(text: str, answer: str) -> str:
    words = _FILLER.sub("", text.strip(_WRAPPING), count=1) if _FILLER.match(text.strip(_WRAPPING)) else text
    words = words.strip(_WRAPPING)
    words = words if len(answer.strip()) == 1 else _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words
    return (words or text.strip(_WRAPPING)).casefold()
