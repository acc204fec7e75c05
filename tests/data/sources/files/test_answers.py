from __future__ import annotations

import re
from itertools import islice

import pytest

from learnable.verifiers.families.registry import DEFAULT_FAMILIES


def draw(family, form, count=200):
    return islice(DEFAULT_FAMILIES[family].generate(form, 3, DEFAULT_FAMILIES[family].knobs()), count)


@pytest.mark.parametrize("form", DEFAULT_FAMILIES["arithmetic"].forms)
def test_sums_are_right(form):
    for prompt in draw("arithmetic", form):
        expression = re.search(r"\d+ [-+*] \d+", prompt.text)
        assert expression is not None
        assert prompt.spec["answer"] == eval(expression[0])


@pytest.mark.parametrize("form", DEFAULT_FAMILIES["comparison"].forms)
def test_comparisons_are_right(form):
    for prompt in draw("comparison", form):
        found = re.search(r"(\d+) (greater|less) than (\d+)", prompt.text)
        assert found is not None
        expression = f"{found[1]} {'>' if found[2] == 'greater' else '<'} {found[3]}"
        assert prompt.spec["answer"] == ("Yes" if eval(expression) else "No")


def test_wide_gaps_are_wide():
    for prompt in draw("comparison", "WideGap"):
        a, b = map(int, re.findall(r"\d+", prompt.text))
        assert abs(a - b) >= 50


def test_counts_are_right():
    for prompt in draw("counting", "LetterCount"):
        letter, word = re.findall(r"'(\w+)'", prompt.text)
        letter, word = sorted((letter, word), key=len)
        assert prompt.spec["answer"] == sum(character == letter for character in word)
    for prompt in draw("counting", "WordLength"):
        assert prompt.spec["answer"] == len(re.findall(r"'(\w+)'", prompt.text)[0])
    for prompt in (*draw("counting", "WordCount"), *draw("counting", "ShortList")):
        assert prompt.spec["answer"] == len(re.split(r"[:?] ", prompt.text)[1].split())
