"""Wording: words that lines must have, start with or end on, and the length of every word."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.forms import span
from learnable.verifiers.poetry.forms.words import word_list
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts


def judge_contains(case: PoemCase) -> Shares:
    """Share of lines that have their word. Words separated by `|` are alternatives."""
    wanted = case.form.contains
    hits = [
        float(line is not None and not set(words.split("|")).isdisjoint(line.words))
        for words, line in zip(wanted, case.lines, strict=False)
    ]
    return Shares.both(sum(hits) / max(len(wanted), len(case.poem.lines)))


def judge_names(case: PoemCase) -> Shares:
    """Share of lines that name a word of the list: a new one in each line, or the next one, where the form says so."""
    rule = dict(case.form.names)
    known = load_word_set(rule["list"])
    order = word_list(rule["list"])
    seen: set[str] = set()
    credits = []
    for index, line in enumerate(case.lines):
        names = [word for word in dict.fromkeys(line.words if line else ()) if word in known]
        fits = 0 < len(names) <= rule.get("most", 99)
        if rule.get("distinct"):
            fits = fits and not seen.issuperset(names)
        if rule.get("in_order"):
            fits = fits and index < len(order) and order[index] in names
        credits.append(float(fits))
        seen |= set(names)
    return case.grade_lines(credits)


def judge_starts(case: PoemCase) -> Shares:
    """Share of lines whose first word is in the list."""
    known = load_word_set(case.form.starts)
    return case.grade_lines([float(bool(line.words) and line.words[0] in known) for line in case.placed])


def judge_ends(case: PoemCase) -> Shares:
    """Share of lines that end with the wanted sign, such as a question mark."""
    sign = case.form.ends
    return case.grade_lines([float(line.text.rstrip("\"' )*_").endswith(sign)) for line in case.placed])


def judge_same_start(case: PoemCase) -> Shares:
    """Share of lines with the most common opening, each with a different continuation."""
    length = case.form.same_start
    lines = [line.words for line in case.placed]
    openings = [words[:length] for words in lines if len(words) > length]
    common = max(openings, key=openings.count, default=())
    rests = {words[length:] for words in lines if common and words[:length] == common and len(words) > length}
    return Shares.both(len(rests) / case.size if len(rests) > 1 else 0.0)


@lru_cache(maxsize=64)
def load_word_set(name: str) -> frozenset[str]:
    """Return a word list as a set."""
    return frozenset(word_list(name))


def judge_word_lengths(case: PoemCase) -> Shares:
    """Share of words with the wanted number of letters: given for each word in turn, or for all as a remainder."""
    words = [word.replace("'", "") for line in case.poem.lines for word in line.words]
    rule = case.form.word_lengths
    if rule and isinstance(rule[0], tuple) and isinstance(rule[0][0], str):
        named: dict[str, Any] = dict(rule)
        hits = sum(len(word) % named["modulo"] == named["rest"] for word in words)
        size = len(words)
    else:
        hits = sum(_is_length(word, count) for word, count in zip(words, rule, strict=False))
        size = max(len(words), len(rule))
    return Shares.both(hits / size if size else 0.0)


def judge_word_syllables(case: PoemCase) -> Shares:
    """Share of words that can have the wanted number of syllables."""
    low, high = span(case.form.word_syllables or 1)
    words = [word for line in case.poem.lines for word in line.words]
    hits = sum(any(low <= count <= high for count in find_syllable_counts(word)) for word in words)
    return Shares.both(hits / len(words) if words else 0.0)


def _is_length(word: str, wanted: Any) -> bool:
    low, high = span(wanted)
    return low <= len(word) <= high
