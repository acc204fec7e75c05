"""Words that lines must name, start with or end on."""

from __future__ import annotations

from functools import lru_cache

from learnable.data.forms.words import word_list
from learnable.verifiers.poetry.constraints.case import Case, Result


def contains(case: Case) -> Result:
    """Share of lines that hold the word they should (one of several, where they are parted by `|`)."""
    wanted = case.form.contains
    hits = [
        float(line is not None and not set(words.split("|")).isdisjoint(line.words))
        for words, line in zip(wanted, case.lines, strict=False)
    ]
    size = max(len(wanted), len(case.poem.lines))
    return sum(hits) / size, sum(hits) / size


def names(case: Case) -> Result:
    """Share of lines that name a word of the list: a new one each, or the one whose turn it is, where the form says so."""
    rule = dict(case.form.names)
    known = word_set(rule["list"])
    order = word_list(rule["list"])
    seen: set[str] = set()
    credits = []
    for index, line in enumerate(case.lines):
        found = [word for word in dict.fromkeys(line.words if line else ()) if word in known]
        fits = 0 < len(found) <= rule.get("most", 99)
        if rule.get("distinct"):
            fits = fits and not seen.issuperset(found)
        if rule.get("in_order"):
            fits = fits and index < len(order) and order[index] in found
        credits.append(float(fits))
        seen |= set(found)
    return case.per_line(credits)


def starts(case: Case) -> Result:
    """Share of lines whose first word is in the list."""
    known = word_set(case.form.starts)
    return case.per_line([float(bool(line.words) and line.words[0] in known) for line in case.said()])


def ends(case: Case) -> Result:
    """Share of lines that end with the sign."""
    sign = case.form.ends
    return case.per_line([float(line.text.rstrip("\"' )*_").endswith(sign)) for line in case.said()])


def same_start(case: Case) -> Result:
    """Share of lines that open like most others and go on differently."""
    length = case.form.same_start
    lines = [line.words for line in case.said()]
    openings = [words[:length] for words in lines if len(words) > length]
    common = max(openings, key=openings.count, default=())
    rests = {words[length:] for words in lines if common and words[:length] == common and len(words) > length}
    share = len(rests) / case.size if len(rests) > 1 else 0.0
    return share, share


@lru_cache(maxsize=64)
def word_set(name: str) -> frozenset[str]:
    """Return a word list as a set."""
    return frozenset(word_list(name))
