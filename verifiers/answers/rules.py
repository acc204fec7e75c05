r"""Which part of a completion is its answer: rules by name, one library for every judge that reads answers.

A spec names its rule under the key `extract`:

- `auto`: what the judge itself finds, by the first of its rules that holds; it says which;
- `boxed`: the last `\boxed{...}`, braces nested; `hashes`: behind the last `####`; `words`: the last "the answer is
  ..."; `stated`: the last of these, or of the next;
- `tag`: the last `<answer>...</answer>`; `tag:NAME` another tag;
- `first`: the number, or the line, that the completion opens with; `last`: the last one;
- `letter`: the choice letter that the completion settles on, from A to Z or `letter:ABCD`;
- `json:FIELD`: a field of the last JSON value, dots reaching inside;
- `regex:PATTERN`: the group `answer` of the last match, or its first group, or all of it;
- `whole`: all of the completion.

Before any rule the thinking is taken away (`completions`).
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from learnable.data.records import Failure, FailureKind, Spec
from learnable.verifiers.answers.choices import read_choice
from learnable.verifiers.answers.extraction import Statement, find_statements
from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.protocol import fault

NO_NUMBER, SEVERAL_NUMBERS = "no number found", "names several numbers"
MAX_MATCHED = 20_000  # characters at a completion's end that a user's pattern is tried on

_PLAIN = ("auto", "boxed", "hashes", "words", "stated", "tag", "first", "last", "letter", "whole")
_WITH_ARGUMENT = ("tag", "letter", "json", "regex")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,40}")
_OPENS_JSON = re.compile(r"[{\[]")
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ExtractionRule:
    """A rule's name and its argument, "" where it has none."""

    name: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.argument}" if self.argument else self.name


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """What was read out of a completion: the `answer` by the `rule` that fired, or None and `why`.

    `answer` is canonical: equal answers are equal text. `text` is what the completion has there.
    """

    answer: str | None
    rule: str = ""
    why: str = ""
    text: str = ""

    @property
    def failure(self) -> Failure | None:
        """What a score says of an answer that could not be read, None where there is one."""
        return Failure(FailureKind.UNREAD, self.why) if self.answer is None else None


def check_rule(spec: Spec) -> None:
    """Raise `SpecError` unless `extract`, where there is one, names a rule and its argument is of use."""
    if "extract" not in spec:
        return
    value = spec["extract"]
    if not isinstance(value, str):
        raise fault("extract", value, f"give a rule as text: {', '.join(_PLAIN)}, json:FIELD or regex:PATTERN")
    parse_rule(value)


def rule_of(spec: Spec) -> ExtractionRule:
    """Return the rule of a spec that has been checked."""
    return parse_rule(spec.get("extract", "auto"))


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> ExtractionRule:
    """Read a rule as specs have it. Raises `SpecError`."""
    name, colon, argument = text.partition(":")
    if name in _PLAIN and not colon:
        return ExtractionRule(name)
    if name not in _WITH_ARGUMENT or not argument:
        known = [*_PLAIN, *(f"{each}:..." for each in _WITH_ARGUMENT)]
        raise fault("extract", text, f"no such rule; use one of {', '.join(known)}")
    if name == "regex":
        compile_pattern("extract", argument)
    if name == "tag" and not _NAME.fullmatch(argument):
        raise fault("extract", text, "name a tag by its letters alone, as in tag:answer")
    if name == "letter" and not (argument.isascii() and argument.isalpha() and len(set(argument.upper())) > 1):
        raise fault("extract", text, "give the letters of the choices, as in letter:ABCD")
    return ExtractionRule(name, argument)


def narrow(text: str, rule: ExtractionRule) -> Statement | None:
    r"""Return the part of a completion that a rule points at, or None where there is no such part.

    The rules `auto`, `first` and `last` are the judges' own, for what a first number or line is depends on what is
    looked for: they point at all of the text.

    >>> narrow(r"It is \boxed{\frac{1}{2}}.", ExtractionRule("boxed")).text
    '\\frac{1}{2}'
    """
    match rule.name:
        case "boxed" | "hashes" | "words" | "stated":
            return _last([one for one in find_statements(text) if rule.name in (one.form, "stated")])
        case "tag":
            return _last(_tagged(text, rule.argument or "answer"))
        case "json":
            return _json_field(text, rule.argument)
        case "regex":
            return _matched(text, rule.argument)
        case "letter":
            return _letter(text, rule.argument.upper() or string.ascii_uppercase)
    return Statement(text.strip(), len(text) - len(text.lstrip()), "whole")


def missing(rule: ExtractionRule) -> str:
    """Return why there is nothing to read, where `narrow` finds no part for a rule.

    >>> missing(ExtractionRule("hashes"))
    "no '####'"
    """
    names = {"boxed": r"no \boxed{}", "hashes": "no '####'", "words": "no words that state an answer"}
    names |= {"letter": "no single choice letter", "stated": "nothing is stated as the answer"}
    if rule.name == "tag":
        return f"no <{rule.argument or 'answer'}> tag"
    if rule.name == "json":
        return f"no JSON with a field {rule.argument!r}"
    if rule.name == "regex":
        return "the pattern matches nowhere"
    return names.get(rule.name, "nothing to read")


def find_json(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield JSON objects and lists of a completion with their places, the last that begins outermost first.

    What a fence of Markdown holds comes before anything outside fences.

    >>> next(find_json('{"a": 1} or rather {"a": {"b": [2]}}.'))[0]
    {'a': {'b': [2]}}
    """
    for fence in reversed(list(_FENCE.finditer(text))):
        yield from reversed(list(_values(text, fence.start(1), fence.end(1))))
    yield from reversed(list(_values(text, 0, len(text))))


def _values(text: str, start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
    tried = 0
    while (opening := _OPENS_JSON.search(text, start, stop)) and tried < 200:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            start = opening.end()
            continue
        if end <= stop:
            yield value, opening.start(), end
        start = end


def reach(value: Any, field: str) -> Any:
    """Return what a dotted field of JSON holds; list items go by their number. Raises `KeyError`.

    >>> reach({"a": [{"b": 3}]}, "a.0.b")
    3
    """
    if isinstance(value, dict) and field in value:
        return value[field]
    head, dot, rest = field.partition(".")
    if isinstance(value, list) and re.fullmatch(r"[0-9]{1,6}", head) and int(head) < len(value):
        inner = value[int(head)]
    elif isinstance(value, dict) and head in value:
        inner = value[head]
    else:
        raise KeyError(field)
    return reach(inner, rest) if dot else inner


def _json_field(text: str, field: str) -> Statement | None:
    for value, start, _ in find_json(text):
        try:
            content = reach(value, field)
        except KeyError:
            continue
        written = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return Statement(written.strip(), start, "json")
    return None


def _matched(text: str, pattern: str) -> Statement | None:
    begin = max(0, len(text) - MAX_MATCHED)
    last = None
    for last in compile_pattern("extract", pattern).finditer(text, begin):  # noqa: B007 (only the last is wanted)
        pass
    if last is None:
        return None
    group: str | int = "answer" if "answer" in last.re.groupindex else min(1, last.re.groups)
    if last[group] is None:
        return None
    return Statement(last[group].strip(), last.start(group), "regex")


def _letter(text: str, letters: str) -> Statement | None:
    choice, _ = read_choice(text, letters[0], tuple(letters))
    return None if choice is None else Statement(choice.upper(), 0, "letter")


@lru_cache(maxsize=64)
def _tag_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"</?{re.escape(name)}>", re.IGNORECASE)


def _tagged(text: str, name: str) -> list[Statement]:
    """Return what a tag holds, each time. The last may be open: where a stop sequence cut the closing tag."""
    statements, opened = [], None
    for tag in _tag_pattern(name).finditer(text):
        if tag[0][1] != "/":
            opened = tag.end()
        elif opened is not None:
            statements.append(_inside(text, opened, tag.start()))
            opened = None
    return [*statements, _inside(text, opened, len(text))] if opened is not None else statements


def _inside(text: str, start: int, end: int) -> Statement:
    inner = text[start:end]
    return Statement(inner.strip(), start + len(inner) - len(inner.lstrip()), "tag")


def _last(statements: list[Statement]) -> Statement | None:
    return statements[-1] if statements else None
