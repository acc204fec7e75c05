r"""What a completion states as its answer, in the forms that people and models use: one reader for every judge.

Read are `\boxed{...}` with nested braces, `#### ...`, `<answer>...</answer>`, and words: "the answer is ...",
"Answer: ...", a heading "Final Answer" with the answer below it, also as a formula on lines of its own. Where there is
none of these, what is emphasised at the very end is: "So he has **72**." What stands behind a second question is not
read: a base model goes on to the next problem, and answers that too.

What corrects a statement is a statement: "Wait, 19." What is stated in one breath is one, so that "\boxed{18} or
\boxed{19}" is seen to be two answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from learnable.verifiers.answers.ends import without_check

Form = Literal["boxed", "hashes", "tag", "words", "emphasis", "json", "regex", "letter", "whole"]

MAX_STATED = 500  # characters of one statement that are looked at
MAX_WORDED = 200  # statements in words: of more, the first and the last ones

_BOXED = re.compile(r"\\f?box(?:ed)?\s*\{")
_BOXED_SIGN = re.compile(r"\\(?:fbox|boxed)\s+(-?[0-9]++(?:[./][0-9]++)?|[A-Za-z])(?![\w{])")  # as TeX reads \\boxed 5
_BRACE = re.compile(r"[{}]")
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_HASHES = re.compile(r"(?:(?<=\s)|\A)####[ \t]*+([^\s#][^\n]*)")
_TAG = re.compile(r"</?answer>", re.IGNORECASE)
_NAMED = r"(?:answers?|ans|(?:correct|right|best|final|my)[ \t]+(?:choice|option|letter|result|count|total|number))"
_OF = r"(?:[ \t]+(?:to|for|of)\b[^\n?!:=]{0,80}?)?"
_FENCE = r"(?:```[a-z]*[ \t]*\n\s*)?"
_VALUE_BEHIND = r"(?=[ \t]+[*_`$(]{0,3}(?:[0-9]|(?-i:[A-J])\b|\\))"  # "answer - B"
_WORDS = re.compile(
    rf"(?<![\w-]){_NAMED}\b{_OF}[*_`\"')\]]*[ \t]*"
    rf"(?::|=|\u2192|->|(?<=[ \t])[-\u2013\u2014]{_VALUE_BEHIND}|"
    r"\b(?:is|are|was|equals|(?:would|must|should|will)[ \t]+be)\b[*_]*(?:[ \t]*:)?)[*_]*"
    rf"(?!\s*(?:not|n't)\b)\s*{_FENCE}",
    re.IGNORECASE,
)
# The same in the languages of MGSM, and in some more.
_WORDS_ABROAD = re.compile(
    r"(?:\b(?:respuesta|r\u00e9ponse|antwort|risposta|resposta|\u043e\u0442\u0432\u0435\u0442|jibu)\b[^\n?!:=\d]{0,40}?"
    r"(?::|=|\s[-\u2013\u2014]|\b(?:es|est|ist|sind|son|\u00e8|\u00e9|ni|\u0440\u0430\u0432\u0435\u043d)\b)|"
    r"(?:\u7b54\u6848|\u6b63\u89e3|\u7b54\u3048|\u56de\u7b54|\ub2f5|\u0e04\u0e33\u0e15\u0e2d\u0e1a|\u0989\u09a4\u09cd\u09a4\u09b0|"
    r"\u0c38\u0c2e\u0c3e\u0c27\u0c3e\u0c28\u0c02)\s*"
    r"(?:(?:\u662f|\u4e3a|\u70ba|\u306f|\uc740|\ub294|\u0e04\u0e37\u0e2d|\u09b9\u09b2\u09cb|\u09b9\u09b2|[:=])+|"
    r"\s+(?=[$\\*]*[0-9])))"
    r"[*_]*(?:[ \t]*:)?\s*"
    r"(?:[^\n\u3002\uff0c,]{1,20}\u3067\u306f\u306a\u304f(?:\u3066)?[\u3001,\uff0c]?\s*)?",  # "not 50 but"
    re.IGNORECASE,
)
OR_ABROAD = r"o|ou|oder|au|\u0438\u043b\u0438"  # "or" where words have spaces between them
_HEADING = re.compile(
    rf"^[#*_ \t]*(?:the[ \t]+)?(?:(?:final|correct)[ \t]+)?answer[*_: \t]*\n\s*{_FENCE}", re.IGNORECASE | re.MULTILINE
)
_ENVIRONMENT = r"\\begin\{(?P<name>(?:align|gather|equation|multline|displaymath)(?:ed)?\*?)\}"
_DISPLAY = re.compile(
    rf"\\\[(?P<square>.*?)\\\]|\$\$(?P<dollars>[^$]+)\$\$|{_ENVIRONMENT}(?P<rows>.*?)\\end\{{(?P=name)\}}", re.DOTALL
)
_FORMULA = r"\\\(.*?\\\)|(?<!\\)\$(?:(?!\b[a-z]{2,}\s+[a-z]{2,})(?:[^$\n\\]|\\.)){1,200}\$"
_NO_ABBREVIATION = r"(?<!\bRs)(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bvs)"
_NUMBER_LINE = r"[ \t]*[-+$]?[0-9][0-9.,/]*[ \t]*(?:\n|\Z)"  # the next of a list, one below the other
_VALUE_NEXT = r"(?=[*_`$(\\]{0,3}[-+]?\$?(?:[0-9]|(?-i:[A-J])\b))"
_MAY_BE = rf"(?:it|this|that)\s+(?:may|might|could)(?:\s+(?:also|well|even))?\s+be\s+{_VALUE_NEXT}"
_OR_ELSE = rf"(?!\s*\b(?:or|alternatively|otherwise)\b|\s*\b{_MAY_BE})"  # the clause goes on: "18. Or 19."
# "Actually, 19." at the end: a number, a formula or a letter in the place of what was stated.
_CORRECTED = re.compile(
    r"(?:\A|(?<=[\n.,;:!?\u2013\u2014-])|(?<=[.,;:!?\u2013\u2014-] ))"
    r"(?:(?:no|wait|actually|sorry|hm+|correction|rather|i\s+meant?|make\s+that|scratch\s+that|on\s+second\s+thoughts?)\b"
    r"(?:[\s,:;.!\u2026\u2013\u2014]|-(?=\s))*){1,6}"
    r"(?:(?:it|this|that)(?:['\u2019]s|\s+is|\s+(?:should|must)\s+be)\s+)?"
    r"(?=[*_`(\[]{0,3}(?:[-+\u2212]?[$\u20ac\u00a3]?[0-9][0-9,]*+(?:[./][0-9]+)?%?(?:\s+(?!(?:more|less|fewer|times|left|or)\b)[a-z]+){0,2}"
    r"|\$[^$\n]{1,80}\$|(?-i:[A-J]))[*_`)\]]{0,3}[.!]?[ \t]*(?:\n[^0-9$\\]{0,300})?\Z)",
    re.IGNORECASE,
)
CLAUSE_END = re.compile(
    rf"(?:\n(?!{_NUMBER_LINE})|{_NO_ABBREVIATION}[.!?](?=\s|$)|\u3002){_OR_ELSE}|;(?=\s*(?:[^\W\d_]{{2,}}|$|\n))(?!\s*(?:or|and|if|when|otherwise)\b)",
    re.IGNORECASE,
)
_SPAN_OR_END = re.compile(rf"(?P<span>{_DISPLAY.pattern}|{_FORMULA})|(?:{CLAUSE_END.pattern})", re.DOTALL | re.I)
_CONTINUED = re.compile(r"\A\s*(?:=|<|>|\\(?:le|ge|leq|geq|approx|equiv|neq?)(?![a-zA-Z]))")
_EMPHASIS = re.compile(
    r"(?<![\w*`])(?P<mark>\*{1,3}|_{1,3}|`)(?=[^\s*_`])(?P<inner>[^\n]{1,100}?)(?<=[^\s*_`])(?P=mark)(?![\w*`])"
)
_AFTER_EMPHASIS = re.compile(r"[\s.,!)\"'$]*(?:[^\W\d_][\w'-]*[\s.,!)\"']*){0,3}\Z")
_DENIED = re.compile(r"\b(?:not|is|are|was|wrong|incorrect|false)\b|n['\u2019]t\b", re.IGNORECASE)
_DENIED_BEFORE = re.compile(r"(?:\bnot|n['\u2019]t)(?:\s+(?:be|the|an?))?\s*\Z", re.IGNORECASE)
_SENTENCE = re.compile(r"[^$\n]*?\b(?:is|are|was|were|equals)\s+(?=\S)", re.IGNORECASE)
_DENIED_IN = re.compile(r"\b(?:not|never|no|or)\b|n['\u2019]t\b", re.IGNORECASE)
_LISTED = re.compile(r"^[ \t]*[*_`]+[^\n]*\n\s*[*_`]+[^\n]*\Z", re.MULTILINE)  # lines that all begin so
_NOUNS = r"(?:[ \t]+(?!(?:no|not|wait|actually|sorry|hmm|so|then|thus|because|since|as)\b)[a-z]+){0,2}"
_IN_ONE_BREATH = re.compile(
    rf"(?:\}}|</answer>|[*_`]*)[\s$*_`).\\\]]*{_NOUNS}\s*(?:\\text\s*\{{\s*)?(?P<link>[,;/&]?\s*\b(?:or|and)\b|[,;/&])"
    r"(?:\s*(?:maybe|perhaps|possibly|even|also|else|it is))?[\s$*_`(\\\[}]*(?:[a-z]\s*=\s*)?"
    r"(?:f?box(?:ed)?\s*\{|<answer>)?[\s$*_`(\\]*",
    re.IGNORECASE,
)
_DENIED_BOX = re.compile(
    r"\b(?:not|rather\s+than|instead\s+of)\s*[$*_`(]*(?:\\f?box(?:ed)?\s*\{|<answer>)\s*\Z", re.IGNORECASE
)
_OR_BEFORE = re.compile(r"\bor\b[^.\n\d]{0,30}\Z", re.IGNORECASE)
LABEL = re.compile(
    r"^[ \t#*_]*(?:question|q|problem|exercise|task|instruction|human|user|"
    r"review|tweet|sentence|passage|premise)[ \t]*+\d*+[ \t]*+[*_]*+[:.)]",
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
    text = fold_signs(text)
    closed = [_join(text, list(one)) for one in (_boxed(text), _tagged(text))]
    closed = [_without_denied(text, one) for one in closed]
    statements = _without_nested(text, [*closed[0], *closed[1], *_hashed(text), *_worded(text)])
    if not statements:
        return _emphasised(without_check(text))
    again = next((label.start() for label in LABEL.finditer(text) if label.start() > statements[0].start), len(text))
    return [stated for stated in statements if stated.start < again]


def fold_signs(text: str) -> str:
    """Return the text with ASCII for signs of full width and for the digits of any script, sign by sign.

    >>> fold_signs("\uff22\uff1a\uff11\u0662")
    'B:12'
    """
    return text if text.isascii() else "".join(map(_fold_sign, text))


def split_first_line(text: str) -> tuple[str, bool]:
    r"""Return the first line that is not blank, and whether the next one asks something: a base model that goes on.

    >>> split_first_line("12\nWork out 3 + 4 = 7")
    ('12', True)
    """
    lines = text.lstrip().split("\n", 1)
    after = lines[1].lstrip() if len(lines) > 1 else ""
    return lines[0].rstrip(), bool(LABEL.match(after) or _QUESTION.match(after.split("\n", 1)[0][:MAX_STATED]))


def strip_latex_text(text: str) -> str:
    r"""Return the text with the words of LaTeX's text commands alone.

    >>> strip_latex_text(r"\text{B}")
    ' B '
    """
    return _LATEX_TEXT.sub(r" \1 ", text)


def _fold_sign(sign: str) -> str:
    if sign.isascii():
        return sign
    if "\uff01" <= sign <= "\uff5e":
        return chr(ord(sign) - 0xFEE0)
    digit = unicodedata.decimal(sign, None)
    return sign if digit is None else str(digit)


def _without_denied(text: str, statements: list[Statement]) -> list[Statement]:
    r"""Return statements without those of what it is not, where others say what it is: "\boxed{A}, not \boxed{B}"."""
    return [one for one in statements if not _DENIED_BOX.search(text, 0, one.start)] or statements


def _without_nested(text: str, statements: list[Statement]) -> list[Statement]:
    """Return statements in order, without those that are the second half of another: "18 or the answer is 19"."""
    kept: list[Statement] = []
    for stated in sorted(statements, key=lambda one: one.start):
        before = kept[-1] if kept else None
        within = before is not None and not before.closed and stated.start < before.end
        command = len("\\boxed{") if stated.form == "boxed" else 0
        if not (before and within and _OR_BEFORE.search(text, before.start, stated.start - command)):
            kept.append(stated)
    return kept


def _join(text: str, statements: list[Statement]) -> list[Statement]:
    """Return statements of one form, those with no more than "or", "and" or a comma between them as one."""
    joined: list[Statement] = []
    end = 0
    for stated in statements:
        link = _IN_ONE_BREATH.fullmatch(text, end, stated.start) if joined else None
        in_a_row = joined and stated.form == "emphasis" and not re.search(r"\w", text[end : stated.start])
        if (link or in_a_row) and joined[-1].text != stated.text:
            by = " or " if link and "or" in link["link"].casefold() else ", "
            joined[-1] = Statement(joined[-1].text + by + stated.text, joined[-1].start, stated.form)
        else:
            joined.append(stated)
        end = stated.end
    return joined


def _boxed(text: str) -> Iterator[Statement]:
    for opening in sorted((*_BOXED.finditer(text), *_BOXED_SIGN.finditer(text)), key=lambda match: match.start()):
        if opening.re is _BOXED_SIGN:
            yield _statement(text, *opening.span(1), "boxed")
            continue
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
    starts = sorted(
        {match.end() for pattern in (_WORDS, _WORDS_ABROAD, _HEADING, _CORRECTED) for match in pattern.finditer(text)}
    )
    for start in starts if len(starts) <= MAX_WORDED else [starts[0], *starts[1 - MAX_WORDED :]]:
        stated = _statement(text, start, _find_clause_end(text, start), "words")
        if stated.text:
            yield _unwrap(stated)


def _find_clause_end(text: str, start: int) -> int:
    """Return where a clause ends; no sign within a formula ends it."""
    stop = min(len(text), start + MAX_STATED)
    for match in _SPAN_OR_END.finditer(text, start, stop):
        if not match["span"]:
            return match.start()
    return stop


def _unwrap(stated: Statement) -> Statement:
    """Return a statement without what is put around all of it: emphasis, or a display of a formula."""
    bare = stated.text.rstrip(".,;")
    if display := _DISPLAY.fullmatch(bare):
        part = next(name for name in ("square", "dollars", "rows") if display[name] is not None)
        inner = _join_rows(display[part]) if part == "rows" else display[part].strip()
        indent = len(display[part]) - len(display[part].lstrip())
        return Statement(inner, stated.start + display.start(part) + indent, "words") if inner else stated
    if emphasis := _EMPHASIS.fullmatch(bare):
        return Statement(emphasis["inner"], stated.start + emphasis.start("inner"), "words")
    return stated


def _join_rows(rows: str) -> str:
    r"""Return the rows of a display as one formula, where they go on with "=", and else as a list.

    >>> _join_rows(r"x &= 3 + 4 \\ &= 7"), _join_rows(r"x &= 5 \\ y &= 6")
    ('x = 3 + 4 = 7', 'x = 5, y = 6')
    """
    joined = ""
    for row in re.split(r"\\\\(?:\[[^\]]*\])?", rows.replace("&", "")):
        if row.strip():
            joined += (" " if not joined or _CONTINUED.match(row) else ", ") + " ".join(row.split())
    return joined.strip()


def _emphasised(text: str) -> list[Statement]:
    """Return what is emphasised at the end of the last line, unless it is a sentence or a heading."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    matches = list(_EMPHASIS.finditer(text, max(start, end - MAX_STATED), end))
    if not matches:
        return []
    if len(matches[-1]["mark"]) == 1 and any(len(one["mark"]) > 1 for one in matches):  # a title in italics
        return []
    first, stop = matches[-1].span()
    if not _AFTER_EMPHASIS.match(text, stop, end) or _DENIED.search(text, stop, end):
        return []
    if _DENIED_BEFORE.search(text, start, first) or _LISTED.search(text[max(0, start - MAX_STATED) : end]):
        return []
    spans = [_statement(text, *one.span("inner"), "emphasis") for one in matches]
    last = _join(text, spans)[-1]
    if (said := _SENTENCE.match(last.text)) and not _DENIED_IN.search(last.text):  # "**Thus, the limit is $e^2$.**"
        last = _statement(text, last.start + said.end(), last.end, "emphasis")
    # An emphasised answer has up to four words; twice as many are a sentence.
    return [] if last.text.endswith((":", "?")) or len(last.text.split()) > 8 else [last]


def _statement(text: str, start: int, end: int, form: Form) -> Statement:
    stated = text[start : min(end, start + MAX_STATED)]
    return Statement(stated.strip(), start + len(stated) - len(stated.lstrip()), form)
