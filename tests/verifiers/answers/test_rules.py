"""Rules of extraction: each points at one part, a wrong one is named with its fix, and the bare number has no short cut
of its own."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learnable.verifiers.answers.judges import ArithmeticVerifier, CountingVerifier
from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.answers.rules import ExtractionRule, check_rule, narrow, parse_rule
from learnable.verifiers.protocol import SpecError

CATASTROPHIC = [
    r"(a+)+b",
    r"(a*)*",
    r"(a?b?)*c",
    r"(\w+\s?)*$",
    r"(x+x+)+y",
    r"(a|ab|b)*c",
    r"(?i)(ab|A|b)*c",
    r"(?:[a-z]+[.,]? ?)*$",
    r"(?=(a+)+b)a",
    r"(.|\s)*z",
    r"(?s:(.|\n)*)z",
    r"(?i:(ab|A|b)*)c",
    r"(a{1,50}){1,50}b",
]
HARMLESS = [
    r"(\w+\s+)*x",
    r"(.|\n)*z",
    r"(?:foo|foobar)*x",
    r"([0-9]+,)*[0-9]+",
    r"((ab)*c)*",
    r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>\n$",
    r"Answer:\s*\$?(-?[\d,]+(?:\.\d+)?)",
    r"(?:[^()]|\([^()]*\))*",
    r"(?P<a>x)(?P=a)?(?(a)y|z)",
    r"(?<!a)b++(?>c*)",
]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_patterns_that_could_take_years_are_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match="would take it years"):
        compile_pattern("pattern", pattern)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_other_patterns_are_not(pattern: str) -> None:
    assert compile_pattern("pattern", pattern).pattern == pattern


@pytest.mark.parametrize("pattern", ["", "(", "x" * 3000, "|".join(f"({sign}+.)*" for sign in "abcdefgh" * 12)])
def test_what_is_no_pattern_or_too_large_to_check_is_refused(pattern: str) -> None:
    with pytest.raises(SpecError, match="'pattern' is"):
        compile_pattern("pattern", pattern)


@given(st.lists(st.sampled_from(["a", "b", "a+", "b*", "(ab)", "(a|b)", "(a|ab)", "a?"]), min_size=1, max_size=4))
def test_what_is_let_through_ends_soon_on_hostile_text(parts: list[str]) -> None:
    try:
        compiled = compile_pattern("pattern", f"(?:{''.join(parts)})*c")
    except SpecError:
        return
    for text in ("a" * 40, "ab" * 20, "b" * 40):  # 2^40 ways would not end
        assert compiled.match(text) is None


@pytest.mark.parametrize(
    ("extract", "message"),
    [
        ("box", "no such rule; use one of auto, boxed"),
        ("json", "no such rule"),
        ("regex:", "no such rule"),
        ("regex:(", "no regular expression"),
        ("tag:a b", "name a tag by its letters"),
        ("letter:A", "give the letters"),
        (3, "give a rule as text"),
    ],
)
def test_a_rule_of_no_use_is_named_with_its_fix(extract: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        check_rule({"extract": extract})


@pytest.mark.parametrize(
    ("rule", "text", "found"),
    [
        ("boxed", r"\boxed{\frac{1}{2}}. So \boxed{\text{a {b} c}}", r"\text{a {b} c}"),
        ("tag:final", "<final>a</final><FINAL> b ", "b"),
        ("hashes", "#### a\n#### b", "b"),
        ("json:a.b", 'x {"a": {"b": [1, 2]}} {"c": 3}', "[1, 2]"),
        ("json:a", '```json\n{"a": 1}\n```\n{"a": 2}', "1"),
        ("regex:=(?P<answer>\\w)", "x=1, x=2", "2"),
        ("regex:\\d", "1 2 3", "3"),
        ("letter", "The answer is (c)", "C"),
        ("whole", " a \n", "a"),
        ("boxed", "a", None),
        ("tag", "a", None),
        ("json:a", '{"a"', None),
        ("json:a", '{"b": 1}', None),
        ("regex:(x)?y", "y", None),
    ],
)
def test_rules_point_at_one_part(rule: str, text: str, found: str | None) -> None:
    part = narrow(text, parse_rule(rule))
    assert (part and part.text) == found


def test_hostile_text_is_read() -> None:
    for text in ("{" * 50_000, "[" * 50_000, '{"a":' * 5_000, "<answer>" * 20_000, r"\boxed{" * 20_000):
        for rule in (ExtractionRule("json", "a"), ExtractionRule("tag"), ExtractionRule("boxed")):
            found = narrow(text, rule)
            assert found is None or not found.text.strip("<answer>")


@example(text="-0")
@given(text=st.from_regex(r"\A\s*-?[0-9]{1,20}\s*\Z") | st.text(alphabet="0123456789-+., \n", max_size=12))
def test_the_short_way_of_bare_numbers_is_the_long_way(text: str) -> None:
    for judge in (ArithmeticVerifier(), CountingVerifier()):
        for answer in (0, 7, -12):
            short = judge.score(text, prompt="", spec={"answer": answer})
            long = judge.score(text, prompt="", spec={"answer": answer, "extract": "auto"})
            assert short == long
