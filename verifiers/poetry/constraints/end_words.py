"""End words that return in a fixed order, and the envoi that gathers them."""

from __future__ import annotations

from learnable.verifiers.poetry.constraints.case import Case, Result

FREE = "-"


def end_words(case: Case) -> Result:
    """Share of lines that end in the word their sign asks for.

    A sign of one character stands for the end word of its first line; different signs are different words. A longer sign
    is the word itself.
    """
    signs = case.form.end_words
    meant = _meanings(case)
    hits = [
        float(line is not None and meant.get(sign, sign) == line.end)
        for sign, line in zip(signs, case.lines, strict=False)
        if sign != FREE
    ]
    # A word given twice is no second word: both signs lose.
    taken = [meant.get(sign, sign) for sign in dict.fromkeys(signs) if sign != FREE]
    distinct = len(set(taken)) / max(1, len(taken)) if all(len(sign) == 1 for sign in signs) else 1.0
    size = max(len(hits), len(case.poem.lines) - (len(case.lines) - len(hits)))
    first = sum(1 for sign in dict.fromkeys(signs) if sign != FREE and len(sign) == 1)
    returns = max(1, size - first)
    share = distinct * max(0.0, sum(hits) - first) / returns
    return share, share


def envoi(case: Case) -> Result:
    """Share of the end words that the closing lines hold, at most `envoi` counted a line, each word once."""
    left = set(_meanings(case).values()) - {""}
    size = max(1, len(left))
    found = 0
    for line in case.lines[len(case.form.end_words) :]:
        held = [word for word in dict.fromkeys(line.words if line else ()) if word in left][: case.form.envoi]
        left -= set(held)
        found += len(held)
    return found / size, found / size


def _meanings(case: Case) -> dict[str, str]:
    """Return the word of each one-character sign: the end of the first line that has it."""
    meant: dict[str, str] = {}
    for sign, line in zip(case.form.end_words, case.lines, strict=False):
        if len(sign) == 1 and sign != FREE and line is not None:
            meant.setdefault(sign, line.end)
    return meant
