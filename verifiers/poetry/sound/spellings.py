"""Old, British and clipped spellings of words the dictionary has in another dress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

MOST_CANDIDATES = 80
_DEPTH = 3  # rules applied one after another: vnhappie -> unhappie -> unhappy

# In the order of trust. Early modern print used u and v, i and j by position and final e freely; the rest are
# the usual differences of British spelling and the clipped endings of verse.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"'d$", "ed"),
        (r"'d$", "d"),
        (r"in'?$", "ing"),
        (r"([a-z])'([a-z])", r"\1e\2"),  # ev'ry, heav'n, wand'ring
        (r"([a-z])'([a-z])", r"\1o\2"),  # mem'ry
        (r"'", ""),
        (r"our(?=$|s$|ed$|ing$|er$|less$|ful$|able$|ite$|ly$)", "or"),
        (r"(?<=[aeiou])ll(?=ed$|ing$|er$|ers$|ous$)", "l"),
        (r"is(?=e$|ed$|es$|ing$|er$|ation$)", "iz"),
        (r"(?<=[^aeiou])re$", "er"),
        (r"ence$", "ense"),
        (r"ae|oe", "e"),
        (r"ough$", "ow"),
        (r"(?<=[aeiourl])u(?=[aeiou])", "v"),
        (r"ue$", ""),
        (r"^v(?=[^aeiou])", "u"),
        (r"^i(?=[aeou])", "j"),
        (r"(?<=[bd])i(?=e?c?t)", "j"),
        (r"vv", "w"),
        (r"(?<=[^aeious])nesse$", "ness"),
        (r"(?<=[a-z]{2}[a-z])e$", ""),
        (r"([bdfglmnprt])\1e$", r"\1"),
        (r"([bdfglmnprt])\1(?=$|s$)", r"\1"),
        (r"ck?e?$", "c"),
        (r"ie(?=$|s$)", "y"),
        (r"y(?=[^aeiou])", "i"),
        (r"aun", "an"),
        (r"oun(?=[dt])", "ou"),
        (r"ee(?=[a-z])", "ea"),
        (r"ea(?=[a-z])", "ee"),
        (r"ea(?=[a-z])", "e"),
        (r"er(?=[a-z])", "ar"),
        (r"o(?=[a-z])", "oo"),
        (r"([bdglmnprt])(?=ed$|ing$)", r"\1\1"),
        (r"(?<=s)t$", "sed"),  # drest, possest
        (r"(?<=p)t$", "ped"),
        (r"(?<=x)t$", "ed"),
        (r"(?<=[kfc])t$", "ed"),
        (r"(?<=[nlrmdk])de?$", "ed"),
        (r"(?<=[^aeiou])(?=[rln](?:ed|ing)$)", "e"),  # wandring
        (r"f(?=[a-z])", "s"),  # long s, misread
    )
)


def respelled(word: str, known: Callable[[str], bool]) -> str | None:
    """Return the spelling, reached by fewest rules, that is `known`; None where no chain of three rules gets there."""
    for candidate in islice(_candidates(word), MOST_CANDIDATES):
        if len(candidate) > 1 and known(candidate):
            return candidate
    return None


def _candidates(word: str) -> Iterator[str]:
    seen, level = {word}, [word]
    for _ in range(_DEPTH):
        level, previous = [], level
        for spelling in previous:
            for pattern, replacement in _RULES:
                changed = pattern.sub(replacement, spelling)
                if changed not in seen:
                    seen.add(changed)
                    level.append(changed)
                    yield changed
