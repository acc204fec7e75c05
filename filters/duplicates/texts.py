"""Texts as words, by which they are compared, and runs of words (n-grams) that several texts share.

Case, white space and punctuation are gone; numbers and operators stay.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from learnable.data.records import Prompt
from learnable.filters.arrays import Flags

Ids = NDArray[np.int64]
"""The numbers of words or of runs of words, or positions in them."""

TEMPLATE_TEXTS = 5  # fewer texts that agree are a coincidence or copies, not a template

_WORD = re.compile(
    r"""
    \d+\.\d+ | (?<![.\d])\.\d+ | \d+              # a number with its decimal point
    | [*/-](?=\s*(?:\.?\d|[^\W\d_](?!\w)))        # an operator, in front of a number or a one-letter name
    | (?<=\w)\#                                   # C# is not C
    | [\^%]
    | [^\s\d.*/\#^%-]+                            # a word, or a symbol that _undress set apart
    """,
    re.VERBOSE,
)


class _Dress(dict[int, str]):
    """Character to what is left of it, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = plain = _undress(chr(code))
        return plain


def _undress(char: str) -> str:
    kind = unicodedata.category(char)
    if char == "\N{MINUS SIGN}":
        return "-"
    if char in ".*/-^%#":  # ASCII marks that may carry meaning; _WORD says where they do
        return char
    if kind in ("Sm", "So") or (kind == "Sc" and char != "$") or _is_written_unspaced(char):
        return f" {char} "  # `$` is LaTeX more often than money
    return char if kind[0] in "LMN" else " "


def _is_written_unspaced(char: str) -> bool:
    return "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff"


_DRESS = _Dress()


def split_words(text: str) -> list[str]:
    """Return what is compared of a text: words, numbers and operators, after Unicode NFKC and case folding.

    Punctuation that dresses a sentence is dropped. What changes a question is not: a decimal point, `+`, `<`, `^`,
    and `-`, `*`, `/` in front of an operand. Chinese and Japanese characters are words of their own.

    >>> split_words("What's 2.50 - (x*3)?")
    ['what', 's', '2.50', '-', 'x', '*', '3']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall(folded.translate(_DRESS))


def join_turns(prompt: Prompt) -> str:
    """Return the whole prompt as one text: the text itself, or every turn of a chat on a line."""
    return prompt.whole_text


def each_once(prompts: Sequence[Prompt]) -> Sequence[Prompt]:
    """Return the prompts without those that come again; a pool that has none stays as it is."""
    names = [prompt.prompt_id for prompt in prompts]
    return prompts if len(set(names)) == len(names) else list({prompt.prompt_id: prompt for prompt in prompts}.values())


@dataclass(frozen=True, slots=True)
class Texts:
    """Many texts as numbered words.

    `words` holds the texts' word ids one after another; text i is `words[starts[i]:starts[i + 1]]`; `vocabulary`
    spells the ids. Equal words have equal ids.
    """

    words: Ids
    starts: Ids
    vocabulary: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Ids]:
        return (self.words[self.span(index)] for index in range(len(self)))

    @property
    def lengths(self) -> Ids:
        """Words in each text."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ids:
        """The text that each word belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def room(self) -> Ids:
        """How many words there are from each word to the end of its text, itself included."""
        return np.repeat(self.starts[1:], self.lengths) - np.arange(len(self.words))

    def span(self, index: int) -> slice:
        """Return where the words of text `index` lie."""
        return slice(self.starts[index], self.starts[index + 1])

    def spell(self, start: int, length: int) -> str:
        """Return `length` words from position `start` on, with spaces between them."""
        return " ".join(self.vocabulary[word] for word in self.words[start : start + length])


def read_texts(texts: Iterable[str]) -> Texts:
    """Split texts into words and number the words in order of appearance."""
    ids: dict[str, int] = {}
    words, starts = array("q"), array("q", [0])
    for text in texts:
        words.extend(ids.setdefault(word, len(ids)) for word in split_words(text))
        starts.append(len(words))
    return Texts(np.array(words, dtype=np.int64), np.array(starts, dtype=np.int64), tuple(ids))


def number_runs(texts: Texts, length: int) -> Ids:
    """Number the runs of `length` words: equal runs have equal numbers.

    Returns one number for each word of `texts`, of the run that starts there; -1 where the run would leave its text,
    or occurs nowhere else. Exact, without hashing: runs of 2, 4, 8, ... words are pairs of numbered shorter ones, as
    in the prefix doubling of Karp, Miller and Rosenberg (1972), and what is unique while short never grows.
    """
    runs, size, room = texts.words, 1, texts.room
    while size < length:
        step = min(size, length - size)
        size += step
        runs = _pair(runs, step, room >= size)
    return runs


def _pair(runs: Ids, step: int, fits: Flags) -> Ids:
    paired = np.full_like(runs, -1)
    starts = np.flatnonzero(fits)
    left, right = runs[starts], runs[starts + step]
    alive = (left >= 0) & (right >= 0)
    starts, left, right = starts[alive], left[alive], right[alive]
    if len(starts):
        _, numbers, counts = np.unique(left * (runs.max() + 1) + right, return_inverse=True, return_counts=True)
        paired[starts] = np.where(counts[numbers] > 1, numbers, -1)
    return paired


def find_template_runs(texts: Texts, runs: Ids, groups: Ids, share: float) -> Flags:
    """Return, for each word, whether the run that starts there is a template of some group of texts.

    A run is a template where at least `TEMPLATE_TEXTS` texts of one group hold it, and more than `share` of the
    group. `groups` numbers the group of each text, -1 for texts that are not counted.
    """
    owners = texts.owners
    occurrences = pl.DataFrame({"run": runs, "text": owners, "group": groups[owners]}).filter(
        pl.col("run") >= 0, pl.col("group") >= 0
    )
    sizes = pl.DataFrame({"group": groups}).group_by("group").len("size")
    templates = (
        occurrences.unique()
        .group_by("run", "group")
        .len("texts")
        .join(sizes, on="group")
        .filter(pl.col("texts") >= TEMPLATE_TEXTS, pl.col("texts") > share * pl.col("size"))
    )
    return np.isin(runs, templates["run"].to_numpy())


def cover_words(starts: Flags, length: int) -> Flags:
    """Return, for each word, whether a run of `length` words that starts where `starts` is true covers it."""
    edges = np.zeros(len(starts) + length, dtype=np.int64)
    edges[: len(starts)] += starts
    edges[length:] -= starts
    return edges[: len(starts)].cumsum() > 0
