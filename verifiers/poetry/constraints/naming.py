"""Names of persons in a line of verse, told from other capitals by where they stand and by what is known of them.

Not told: whether a capitalised word inside a line that is in no list is a person, a dog or a ship.
"""

from __future__ import annotations

import re
from functools import lru_cache

from learnable.verifiers.poetry.forms.words import word_list
from learnable.verifiers.poetry.gate import FUNCTION_WORDS

_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_NUMERALS = frozenset(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii"])


@lru_cache(maxsize=4096)
def names_person(text: str) -> bool:
    """Whether a line names a person.

    Every line of verse may open with a capital, so the first word counts only where it is a known name, or is followed
    by another capital that is no word of grammar; a word inside the line counts where it has a capital and is no day,
    month, place or word of grammar. In a line of capitals throughout only known names and titles count.

    >>> [names_person(line) for line in ("Plato", "George the Third", "Sir Humphry Davy", "What I like about Clive")]
    [True, True, True, True]
    >>> [names_person(line) for line in ("Whenever I go", "The Town Of London", "On a Monday in May I went")]
    [False, False, False]
    """
    tokens = _TOKEN.findall(text)
    words = [token.lower().replace("\u2019", "'").removesuffix("'s") for token in tokens]
    capitals = [token[0].isupper() for token in tokens]
    if any(word in _known("persons") and capital for word, capital in zip(words, capitals, strict=True)):
        return True
    named = [index for index, word in enumerate(words) if capitals[index] and _may_be_name(word)]
    if any(words[index] in _known("titles") and index + 1 in named for index in range(len(words))):
        return True
    if _is_all_capitals(words, capitals):
        return False
    return any(index > 0 and words[index] not in _known("titles") for index in named)


def _may_be_name(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in _known("no_persons") and word not in _NUMERALS


def _is_all_capitals(words: list[str], capitals: list[bool]) -> bool:
    """Whether a line has a capital where no name has one: on a word of grammar after its first word, or throughout."""
    inside = list(zip(words, capitals, strict=True))[1:]
    odd = any(capital and word in FUNCTION_WORDS and word != "i" for word, capital in inside)
    return odd or (len(words) > 3 and all(capitals))


@lru_cache(maxsize=8)
def _known(name: str) -> frozenset[str]:
    return frozenset(word_list(name))
