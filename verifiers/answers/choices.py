"""The choice that a completion settles on, among those that its problem offers."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator

from learnable.verifiers.answers.extraction import (
    CLAUSE_END,
    OR_ABROAD,
    Statement,
    find_statements,
    fold_signs,
    split_first_line,
    strip_latex_text,
)
from learnable.verifiers.answers.mentions import VERB, Mention, find_mentions
from learnable.verifiers.answers.option_texts import find_option
from learnable.verifiers.answers.sentences import find_said, last_sentence
from learnable.verifiers.answers.statements import find_stated_answer

NO_CHOICE, SEVERAL_CHOICES = "no choice found", "names several choices"
Reading = tuple[str | None, str]
LOOK_BACK = 60  # characters before a choice that may rule it out

_RULED_OUT_BEFORE = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bneither|\bnor|\bcannot|\brul(?:e[sd]?|ing) out|\b(?:eliminat|exclud|reject)\w*|"
    r"\binstead of|\brather than|\bexcept|\bunlike|\bother than|\bthan|\bagainst)"
    r"(?:\s+(?:be|the|an?|option|choice|answer|letter|just|simply|for))*[\s(\[\"'*_`]*\Z",
    re.IGNORECASE,
)
_RULED_OUT_AFTER = re.compile(
    r"[)\]\"'*_`]*\s+(?:(?:is|are|was|seems|looks|would be|can be|must be)\s+(?:clearly\s+|also\s+|definitely\s+)?"
    r"(?:not|n['\u2019]t|wrong|false|incorrect|impossible|invalid|ruled|eliminated|out|too)\b|(?:is|does|would|could|ca)n['\u2019]t\b|"
    r"cannot\b|does not\b)",
    re.IGNORECASE,
)
_FIRST_THOUGHT = re.compile(
    r"\b(?:at\s+first(?:\s+glance)?|initially|tempt(?:ed|ing)\b|"
    r"(?:one|you|many|some)\s+(?:\w+\s+)?(?:might|may|could)\s+(?:think|say|pick|choose)),?"
    r"(?:(?!\bbut\b)[^.,:;\n]){0,50}\Z",
    re.IGNORECASE,
)
_CONFIRMED = re.compile(
    r"[)\]\"'*_`]*\s+(?:is|must be|would be|seems)\s+(?:clearly\s+)?(?:the\s+)?(?:(?:final|only|best)\s+)?"
    r"(?:(?:correct|right|best|answer|true)\b(?!\s+(?:if|only|unless)\b)|only\s+(?:one|option|choice|answer|statement)\b)",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"\bI(?:['\u2019](?:d|ll|m)|\s+would|\s+will|\s+am)?"
    r"\s+(?:choose|pick|select|choosing|picking|go(?:ing)? (?:with|for))\s+"
    r"(?:(?:the|option|choice|answer|letter)\s+)*[\s(\[\"'*_`]*\Z|"
    r"\b(?:so|therefore|thus|hence|consequently|finally|in conclusion)\b,?\s+"
    r"(?:(?:it|this|that)(?:\s+is|\s+must be|['\u2019]s)\s+)?"
    r"(?:(?:the|option|choice|answer|letter)\s+)*[\s(\[\"'*_`]*\Z",
    re.IGNORECASE,
)
_HEDGED = re.compile(r"\b(?:might|may|could|maybe|perhaps|possibly|either|whether)\b[^.\n]{0,40}\Z", re.IGNORECASE)
_WRAP = r"(?:[ \t\"'*_`()\[\]{}$]|\\f?box(?:ed)?(?=\{))*"
_OTHER_CASE = re.compile(
    r"[^;\n]{0,20};\s*(?:and\s+|but\s+)?(?:if|when|otherwise)\b[^.;\n]*?\b(?:is|be|choose|then)\s+[\s(\[*_`]*",
    re.IGNORECASE,
)
_OFFERED = (
    r"(?:(?:the|option|choice|letter|answer|maybe|perhaps|possibly|probably|also|even|either|else|"
    r"it|is|could|might|may|be)\b[ \t]*)*"
)
_MAYBE = (
    r"\b(?:maybe|perhaps|possibly|otherwise|alternatively|but[ \t]+(?:maybe|perhaps|could|might|may)|"
    r"(?:but[ \t]+)?(?:it|this|that)[ \t]+(?:maybe|perhaps|could|might|may))\b"
)
_OR_UNSPACED = (  # in Chinese, Japanese and Korean
    r"(?:\u6216\u8005?|\u548c|\u4e0e|\u8207|\u53ca|\u307e\u305f\u306f|\u304b|\u3068|\ub610\ub294|\u3001)"
)
_STRONG_LINK = re.compile(
    rf"{_WRAP}(?:[.,;: \t\"'*_`()\[\]{{}}$]*"
    rf"(?:[/|&+]|\b(?:and/or|and|or|nor|{OR_ABROAD}|vs\.?|versus|through)\b|{_OR_UNSPACED}|{_MAYBE}|\bto\b){_WRAP}"
    rf"{_OFFERED}{_WRAP})?",
    re.IGNORECASE,
)
_WEAK_LINK = re.compile(r"[\s,;.:\"'*_`()\[\]-]+(?:(?:option|choice|letter)[\s(\[*_`]+)?", re.IGNORECASE)
_OR_WORD = re.compile(rf"{_WRAP},?\s*(?:\b(?:or|{OR_ABROAD})\s+|{_OR_UNSPACED}\s*)(?=\w)", re.IGNORECASE)
_BUT_OTHERS = re.compile(r"(?:,\s+|\s+\()(?:although|(?:even\s+)?though|whereas|while|unlike)\b[^.]*")
_TEXT_SIGN = re.compile(r"[*_`]*(?:[).:\]]+[*_`]*|,|\s[-\u2013\u2014]|\s\()[*_`]*\s*(?=[^\s*_`()\[\]])")
_NO_TEXT = re.compile(
    r"(?:or|and|nor|to|vs|through|maybe|perhaps|possibly|not|but|then|with|because|since|"
    r"(?:it|this)\s+(?:could|might|may))\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"(?i:both|neither)\b(?:(?!\bor\b).)*|"
    r"(?P<letters>\(?[A-Z]\)?(?:,\s*\(?[A-Z]\)?)*,?\s+and\s+\(?[A-Z]\)?)(?!\w|[).:]\s*\w)"
)
_LEAD = re.compile(
    r"\W*(?:(?:so|thus|therefore|hence|it is|that is|the|correct|right|option|choice|answer|letter|is)\b\W*)*",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:or|and)\s+(?:(?:option|choice)\s+)?[(\[*_`]*\Z", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as|whether|if|not|than|which|for)\b", re.IGNORECASE)
_OR_BEFORE = re.compile(r"\bor\s+(?:(?:the|option|choice|answer|is)\s+)*[(\[*_`]*\Z", re.IGNORECASE)
_ENDS = re.compile(r"[)\]\"'*_`]*\s*(?:\Z|[.,;:!?/|&)\]}-]|\n|(?:and|or)\b)", re.IGNORECASE)
_LABEL_SIGN = re.compile(r"[*_`]*[).:]")
_LINE_LABEL = r"^[ \t*(_-]*[A-Za-z][*_]*[).:]\W*"
_RIGHT = re.compile(rf"[\u2705\u2713\u2714]|{_LINE_LABEL}(?:correct|right|true)\b", re.IGNORECASE | re.MULTILINE)
_WRONG = re.compile(
    rf"[\u274c\u2717\u2718]|{_LINE_LABEL}(?:incorrect|wrong|false|not\s+correct)\b", re.I | re.MULTILINE
)
_WORD = re.compile(r"\w")
_BOLD = re.compile(r"\*\*[(]?\Z")
_BOLD_END = re.compile(r"[).:]*\*\*")


def read_choice(
    text: str, answer: str, choices: tuple[str, ...] | None, texts: tuple[str, ...] | None = None
) -> Reading:
    """Return the choice that a text settles on, case folded, or None and why there is none: see `ChoiceVerifier`.

    `answer` is looked for alone where the choices are not known; `texts` are what the choices stand for, if known.
    """
    text = fold_signs(text)
    if choices is None:
        letters = _with_missing_letters((answer, "E")) if re.fullmatch("[A-J]", answer) else ()
        reading = _read_statements(text, letters) if letters else None
        return reading or (find_stated_answer(text, answer), NO_CHOICE)
    choices = _with_missing_letters(tuple(map(fold_signs, choices)))
    line, goes_on = split_first_line(text)
    if goes_on and (choice := _only(line, choices)):
        return choice, ""
    if goes_on and texts and (place := find_option(line, texts)) is not None:
        return choices[place].casefold(), ""
    if choice := _marked(text, choices):
        return choice, ""
    if texts and (reading := _read_text(text, choices, texts)) is not None:
        return reading
    return _read_statements(text, choices) or _read_mentions(text, choices)


def _marked(text: str, choices: tuple[str, ...]) -> str | None:
    """Return the choice of the only line with a check mark, in a list that crosses out all its other lines."""
    if not _RIGHT.search(text):
        return None
    lines = [(line, choice) for line in text.split("\n") if (choice := next(find_mentions(line, choices), None))]
    marked = [choice for line, choice in lines if _RIGHT.search(line)]
    crossed = [choice for line, choice in lines if _WRONG.search(line)]
    is_only = len(marked) == 1 and len(crossed) == len(lines) - 1 > 0
    return marked[0].choice if is_only and not find_statements(text) else None


def _read_statements(text: str, choices: tuple[str, ...]) -> Reading | None:
    """Return what the last explicit statement that names a choice settles on, None where there is none."""
    for stated in reversed(_statements(text, choices)):
        if (reading := _read_statement(stated, choices)) is not None:
            return reading if reading[0] is None or not _goes_on(text, stated, choices) else (None, SEVERAL_CHOICES)
    return None


def _with_missing_letters(choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return letters with those before the last: where B and C are the answers of a file, A was a choice too."""
    if not all(len(choice) == 1 and choice.isascii() and choice.isalpha() for choice in choices):
        return choices
    given = {choice.upper() for choice in choices}
    known = string.ascii_uppercase[: string.ascii_uppercase.index(max(given)) + 1]
    # Where not all letters up to the last are known, the first five are taken to be choices.
    known = known if len(given) == len(known) else max(known, string.ascii_uppercase[:5])
    return (*choices, *(letter for letter in known if letter not in given))


def _read_text(text: str, choices: tuple[str, ...], texts: tuple[str, ...]) -> Reading | None:
    """Return the choice whose text is what a completion states last, or all of it, or what its only sentence says."""
    stated = find_statements(text)
    if not stated and (alone := find_option(text, texts)) is not None:
        return choices[alone].casefold(), ""
    whole = strip_latex_text(stated[-1].text if stated else text if _statements(text, choices) else last_sentence(text))
    named = next(find_mentions(whole, choices), None)
    sign = _TEXT_SIGN.match(whole, named.end) if named and _LEAD.fullmatch(whole, 0, named.start) else None
    place = find_option(whole, texts)
    asserted = _BUT_OTHERS.sub("", whole)
    if place is None and named is None and sum(option.casefold() in asserted.casefold() for option in texts) == 1:
        place = next((option for one in find_said(whole) if (option := find_option(one, texts)) is not None), None)
    if place is None and sign is not None and named is not None:
        behind = find_option(whole[sign.end() :], texts)
        return None if behind is None or choices[behind].casefold() == named.choice else (None, SEVERAL_CHOICES)
    return None if place is None else (choices[place].casefold(), "")


def _goes_on(text: str, stated: Statement, choices: tuple[str, ...]) -> bool:
    """Whether a statement of words is the beginning of a list that goes on behind it."""
    if stated.closed:
        return False
    near = text[stated.start : stated.end + LOOK_BACK]
    named = list(find_mentions(near, choices))
    if any(
        _OTHER_CASE.fullmatch(near, named[0].end, other.start) for other in named if other.choice != named[0].choice
    ):
        return True
    return not _is_labelled(near, named) and any(named[0] in link for link in _chains(near, named))


def _read_mentions(text: str, choices: tuple[str, ...]) -> Reading:
    named = list(find_mentions(text, choices))
    chosen = [mention for mention in _unlisted(text, named, choices) if not _is_ruled_out(text, mention)]
    if not chosen:
        return None, SEVERAL_CHOICES if len({mention.choice for mention in named}) > 1 else NO_CHOICE
    if "\n" not in text.strip() and _is_labelled(text, chosen):
        return chosen[0].choice, ""
    if not _WORD.search(text, 0, chosen[0].start):
        return (None, SEVERAL_CHOICES) if _OR_WORD.match(text, chosen[0].end) else (chosen[0].choice, "")
    marked = [mention for mention in chosen if _is_bold(text, mention)]
    last = (marked or chosen)[-1]
    if len({mention.choice for mention in chosen}) > 1 and not marked and _is_open(text, last, chosen, choices):
        return None, SEVERAL_CHOICES
    return last.choice, ""


def _is_open(text: str, last: Mention, chosen: list[Mention], choices: tuple[str, ...]) -> bool:
    """Whether several are named and the last is no more chosen than the others."""
    if _HEDGED.search(text, max(0, last.start - LOOK_BACK), last.start):
        return True
    once = [mention.choice for mention in chosen].count(last.choice) == 1
    return once and len(choices) > 2 and {mention.choice for mention in chosen} == {one.casefold() for one in choices}


def _statements(text: str, choices: tuple[str, ...]) -> list[Statement]:
    """Return the explicit statements with those that a choice's own surroundings make, in order."""
    statements = [one for one in find_statements(text) if one.form != "emphasis"]  # `_read_mentions` looks at it
    for mention in find_mentions(text, choices):
        before = max(0, mention.start - LOOK_BACK)
        confirmed = _CONFIRMED.match(text, mention.end) or _CHOSEN.search(text, before, mention.start)
        if confirmed and not _is_ruled_out(text, mention):
            rest = CLAUSE_END.split(text[mention.start : mention.start + LOOK_BACK], maxsplit=1)[0]
            statements.append(Statement(rest, mention.start, "words"))
    return sorted(statements, key=lambda stated: stated.start)


def _read_statement(stated: Statement, choices: tuple[str, ...]) -> Reading | None:
    """Return what a statement chooses; None where it names no choice at all, or only rules some out."""
    text = strip_latex_text(stated.text)
    named = list(find_mentions(text, choices))
    chosen = [mention for mention in named if not _is_ruled_out(text, mention)]
    if not chosen:
        return None
    if _is_labelled(text, chosen):
        return chosen[0].choice, ""
    if _OR_WORD.match(text, chosen[0].end) or _has_alternative(text, chosen[0], chosen):
        return None, SEVERAL_CHOICES
    if stated.closed and len({mention.choice for mention in chosen}) > 1:
        return None, SEVERAL_CHOICES
    linked = _links(text, named)
    if any(chosen[0] in (one, other) and one.choice != other.choice for one, other in linked):
        return None, SEVERAL_CHOICES
    return chosen[0].choice, ""


def _is_labelled(text: str, named: list[Mention]) -> bool:
    """Whether a text is a choice with its own words behind it: "B. Vitamin C"."""
    first, *others = named
    sign = _TEXT_SIGN.match(text, first.end)
    if sign is None or not _LEAD.fullmatch(text, 0, first.start) or _NO_TEXT.match(text, sign.end()):
        return False
    of_others = _OF_OTHERS.match(text, sign.end())
    if of_others and text[first.start] not in (of_others["letters"] or ""):
        others = [other for other in others if other.start >= of_others.end()]
    letter = text[first.start : first.end]
    others = [other for other in others if text[other.start : other.end].isupper() == letter.isupper()]
    return not any(
        other.start == sign.end()
        or _TEXT_SIGN.match(text, other.end)
        or (_JOINED.search(text, first.end, other.start) and not _WORD.search(text, other.end))
        for other in others
    )


def _has_alternative(text: str, first: Mention, named: list[Mention]) -> bool:
    """Whether a statement goes on from its first choice to another: "A) 59 or D) 89"."""
    return any(
        other.choice != first.choice
        and _OR_BEFORE.search(text, first.end, other.start)
        and not _REASON.search(text, first.end, other.start)
        for other in named
    )


def _only(line: str, choices: tuple[str, ...]) -> str | None:
    """Return the choice that a line holds and nothing else."""
    named = list(find_mentions(line, choices))
    if len(named) != 1 or not _is_alone(line, named[0]):
        return None
    return named[0].choice


def _unlisted(text: str, named: list[Mention], choices: tuple[str, ...]) -> list[Mention]:
    """Return the mentions that are neither labels of a list nor named in one breath with others."""
    listed = {mention for link in _chains(text, named) for mention in link}
    labels = _labels(text, [mention for mention in named if mention not in listed])
    if len(labels) > 1:
        listed.update(labels)
    return [mention for mention in named if mention not in listed]


def _chains(text: str, named: list[Mention]) -> Iterator[list[Mention]]:
    """Yield runs of mentions that link to each other and name more than one choice."""
    links = set(_links(text, named))
    run: list[Mention] = []
    for mention in named:
        if run and (run[-1], mention) not in links:
            if len({one.choice for one in run}) > 1:
                yield run
            run = []
        run.append(mention)
    if len({one.choice for one in run}) > 1:
        yield run


def _links(text: str, named: list[Mention]) -> list[tuple[Mention, Mention]]:
    """Return the neighbours that are named in one breath: "A or B", "A B", "A, B." and one below the other."""
    links = []
    for one, other in itertools.pairwise(named):
        between = text[one.end : other.start]
        alone = "\n" not in between or _is_alone(text, other)
        alone = alone and not _is_ruled_out(text, one)
        weak = alone and _WEAK_LINK.fullmatch(between) and _ENDS.match(text, other.end)
        if _STRONG_LINK.fullmatch(between) or weak:
            links.append((one, other))
    return links


def _is_alone(text: str, mention: Mention) -> bool:
    """Whether a mention is all that its line holds."""
    before = text.rfind("\n", 0, mention.start) + 1
    after = text.find("\n", mention.end)
    after = after if after >= 0 else len(text)
    return not (_WORD.search(text, before, mention.start) or _WORD.search(text, mention.end, after))


def _labels(text: str, named: list[Mention]) -> list[Mention]:
    """Return the first mention of each choice that labels the words behind it: "B)" anywhere, or "B." on a new line."""
    labels: dict[str, Mention] = {}
    for mention in named:
        sign = _LABEL_SIGN.match(text, mention.end)
        on_new_line = not _WORD.search(text, text.rfind("\n", 0, mention.start) + 1, mention.start)
        if sign and (on_new_line or ")" in sign[0]) and not VERB.match(text, sign.end()):
            labels.setdefault(mention.choice, mention)
    return list(labels.values())


def _is_ruled_out(text: str, mention: Mention) -> bool:
    before = max(0, mention.start - LOOK_BACK)
    if _FIRST_THOUGHT.search(text, before, mention.start):
        return True
    after = _RULED_OUT_AFTER.match(text, mention.end)
    is_text = after and after[0].lstrip(")]\"'*_` \t\n")[:1].isupper()  # "D) Cannot be determined"
    return bool(_RULED_OUT_BEFORE.search(text, before, mention.start) or (after and not is_text))


def _is_bold(text: str, mention: Mention) -> bool:
    bold = _BOLD.search(text, max(0, mention.start - 4), mention.start) and _BOLD_END.match(text, mention.end)
    brackets = text[mention.start - 1 : mention.start] in ("(", "[") and text[mention.end : mention.end + 1] in (
        ")",
        "]",
    )
    return bool(bold) or brackets
