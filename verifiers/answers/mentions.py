"""Where a text names a choice: a letter that is no article, no pronoun and no part of a name such as "vitamin D"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.answers.values.quantities import NO_SPACES

VERB = re.compile(
    r"\s+(?:is|was|are|because|since|and|or|but|as|would|seems|fits|not|vs|has|over|for|then|must|should|rather|instead|due|"
    r"which|looks|works|matches|describes|can|cannot|may|might|could|does|will|too|if|only|to)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\s+(?!(?:is|was|because|since|and|or)\b)[^\W\d_]{2,}", re.IGNORECASE)
_WORD_NEXT = re.compile(r"\s+[^\W\d_]{2,}|[ \t]+[a-z](?!\w)")
_NAMED_BY_LETTER = re.compile(r"\b(?:vitamins?|hepatitis)\s+\Z", re.IGNORECASE)  # "vitamin D"


@dataclass(frozen=True, slots=True)
class Mention:
    """A choice, case folded, where a text names it."""

    choice: str
    start: int
    end: int


def find_mentions(text: str, choices: tuple[str, ...]) -> Iterator[Mention]:
    """Yield where a text names one of the choices, as a whole word and not as an article or a part of a name."""
    for match in _pattern(choices).finditer(text):
        if not _is_article(text, match) and not _NAMED_BY_LETTER.search(
            text, max(0, match.start() - 16), match.start()
        ):
            yield Mention(match[0].casefold(), match.start(), match.end())


def _is_article(text: str, match: re.Match[str]) -> bool:
    """Whether a single letter is the article "a" or the pronoun "I" rather than a choice."""
    letter = match[0]
    if letter in "Ii":
        return _PRONOUN.match(text, match.end()) is not None
    if letter not in "Aa" or VERB.match(text, match.end()):
        return False
    return _WORD_NEXT.match(text, match.end()) is not None


@lru_cache(maxsize=1024)
def _pattern(choices: tuple[str, ...]) -> re.Pattern[str]:
    # The longest first, so that "<=" is not read as "<" nor "New York" as "New".
    longest_first = sorted(choices, key=len, reverse=True)
    return re.compile("|".join(_whole_word(choice.strip()) for choice in longest_first), re.IGNORECASE)


def _whole_word(choice: str) -> str:
    before, after = "", ""
    no_word_before, no_word_after = (
        rf"(?<![^\W_{NO_SPACES}])(?<![^\W_]_)",
        rf"(?![^\W_{NO_SPACES}])(?!_[^\W_])",
    )  # an underline may be emphasis
    if choice[0].isalnum():
        before = no_word_before + (r"(?<![0-9][.,])(?<!-)" if choice[0].isdigit() else r"(?<!\w['\u2019])")
    if choice[-1].isalnum():
        after = no_word_after + (r"(?![.,][0-9])" if choice[-1].isdigit() else "")
    if len(choice) == 1 and choice.isalpha():  # no part of "e.g.", "I'm" or "B-side"
        before, after = (
            before + r"(?<![^\W\d_]\.)(?<!\w-)(?<!\u00b0)(?<!\u00b0 )",
            after + r"(?!['\u2019]\w)(?!\.\w)(?!-\w)",
        )
    return before + re.escape(choice) + after
