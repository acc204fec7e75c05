"""How many syllables a word can have, worked out from its pronunciations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from learnable.verifiers.poetry.sound.phones import Phones, stresses
from learnable.verifiers.poetry.sound.syllables import begins_open, ends_open, lengthened, shortened


class WordCounts(NamedTuple):
    """A word's numbers of syllables: `free` ones, and `licensed` ones that only verse gives it (heav'n, bless-ed).

    `only` is the one number if there is no other. `begins_open` and `ends_open`: its ends may merge with a neighbour.
    """

    only: int | None
    free: tuple[int, ...]
    licensed: tuple[int, ...]
    begins_open: bool
    ends_open: bool

    def written(self) -> str:
        """Return it as text, for `read`."""
        return "/".join(
            (*(",".join(map(str, counts)) for counts in self[1:3]), f"{self.begins_open:d}{self.ends_open:d}")
        )


def count_syllables(word: str, known: Sequence[Phones]) -> WordCounts:
    """Return the counts of a word with these pronunciations, of which there is at least one."""
    free = {len(stresses(phones)) for phones in known}
    forms = {form for phones in known for form in shortened(phones) | lengthened(word, phones)}
    licensed = {len(stresses(form)) for form in forms} - free
    return _made(free, licensed, any(map(begins_open, known)), any(map(ends_open, known)))


def estimated(syllables: int) -> WordCounts:
    """Return the counts of a word of which nothing but an estimate is known."""
    return _made([syllables], [], begins=False, ends=False)


def read(text: str) -> WordCounts:
    """Return what was `written`."""
    free, licensed, ends = text.split("/")
    return _made(_numbers(free), _numbers(licensed), begins=ends[0] == "1", ends=ends[1] == "1")


def _made(free: Iterable[int], licensed: Iterable[int], begins: bool, ends: bool) -> WordCounts:
    free, licensed = tuple(sorted(free)), tuple(sorted(licensed))
    only = free[0] if len(free) == 1 and not licensed else None
    return WordCounts(only, free, licensed, begins, ends)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]
