"""Which option's own text a completion gives, in place of its letter."""

from __future__ import annotations

import re

from learnable.verifiers.answers.extraction import MAX_STATED, fold_signs, strip_latex_text
from learnable.verifiers.answers.values.alternatives import is_same
from learnable.verifiers.answers.values.quantities import Quantity, find_quantities
from learnable.verifiers.answers.values.writing import write_plainly

_AROUND = " \t\n*_`$.,;:!?()[]{}\"'"
_LEAD = re.compile(r"(?:(?:so|thus|therefore|hence|it is|it['\u2019]s|that is|the|an?)\b[\s,:]*)+", re.IGNORECASE)
_REASON = re.compile(
    r"(?!\S*\s+(?:or|and)\b)(?:,?\s+(?:because|since|as)\b|,\s*(?:which|so|not)\b|\s+\((?:although|though|because|since|as|not)\b|"
    r"[.!?](?=\s)|\n)",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[\s$~]+|\\(?:[,;:! ()\[\]]|left|right|displaystyle)")


def find_option(text: str, texts: tuple[str, ...]) -> int | None:
    """Return the place of the only option whose text this is, but for its writing and a reason behind it.

    >>> find_option("the Vitamin C, because it is sour.", ("Iron", "Vitamin C")), find_option("$61.00", ("$61", "$65"))
    (1, 0)
    """
    if len(text) > MAX_STATED or any(len(_plain(option)) == 1 and _plain(option).isalpha() for option in texts):
        return None  # letters say nothing that the label of an option does not
    for part in (text, _REASON.split(text.strip(), maxsplit=1)[0]):
        same = [place for place, option in enumerate(texts) if _plain(part) and _plain(part) == _plain(option)]
        if not same and (number := _number(part)):
            numbers = [_number(option) for option in texts]
            same = [place for place, option in enumerate(numbers) if option and is_same(option, number)]
        if len(same) == 1:
            return same[0]
    return None


def _plain(text: str) -> str:
    text = strip_latex_text(fold_signs(text)).strip(_AROUND)
    return _SIGNS.sub("", _LEAD.sub("", text, count=1) if _LEAD.match(text) else text).casefold()


def _number(text: str) -> Quantity | None:
    """Return the number that a text is, with nothing but its unit."""
    plain = write_plainly(text)
    quantities = list(find_quantities(plain))
    if len(quantities) != 1 or re.search(r"[\w^*/+=<>-]", plain[: quantities[0].start] + plain[quantities[0].end :]):
        return None
    return quantities[0]
