"""What is worth what in rhyme and in the lists, on authors it was not drawn from?

Each author of the annotated stanzas is left out in turn: what the odds of schemes, the kinds of rhyme that the judge
credits and the words of older verse owe to him is forgotten, and his stanzas are judged by what the others left.

    python -m benchmarks.poetry.held_out [--section "schemes, authors left out" ...] [--json FILE]
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.poetry.data import Stanza, performances_by_author, stanzas
from benchmarks.poetry.run import report_sections
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme import pairs, rimes
from learnable.verifiers.poetry.rhyme.pairs import Bond, credit_rhyme, find_bond, find_older_vowels
from learnable.verifiers.poetry.rhyme.schemes import ODDS, UNRHYMED, Odds, divide_stanza, infer_scheme
from learnable.verifiers.poetry.sound import poetic_words, pronunciation

MIN_AUTHORS = 3  # a unit, or a kind of rhyme, that fewer use is theirs
HALF = 0.5  # credit from which a rhyme counts for a pass
# Customary units of handbooks of prosody. Which of them stay, and what they weigh, is learned.
CANDIDATES = tuple(
    """
    x aa aaa abab abba xaxa axa aaxa aab ababb abaab ababa aabba aabab xabba abcabc ababab abaabb aabccb ababcc aaabab
    cdedce ababbcc abababcc ababbcbc aabbccdd abbaabba aaabcccb ababbcbcc
    """.split()
)
UNRHYMED_ODDS = -1.0  # not learned: the stanzas were collected for their rhymes, so few of their lines have none
_START = -3.0  # log odds of every unit before any is counted
_ROUNDS = 5
_SMOOTHING = 0.5


class Read(NamedTuple):
    """A stanza by its end words, the annotated letters and the author."""

    ends: tuple[str, ...]
    scheme: tuple[str, ...]
    author: str


@dataclass
class Tally:
    """How many pairs are heard and rhyme, are heard, and rhyme."""

    hits: int = 0
    heard: int = 0
    right: int = 0

    def count(self, heard: int, right: int, times: int = 1) -> None:
        """Count pairs, so many `times`, of which `right` rhyme; they are heard or not."""
        self.hits += right * heard
        self.heard += times * heard
        self.right += right

    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        return 2 * self.hits / max(1, self.heard + self.right)


def judged_pairs(data: Path) -> dict[str, Any]:
    """Return how the judge's own rhyme agrees with annotators: two words alone, no scheme and no stanza around them.

    A pair counts as heard with a credit of half or more, as for a pass. The same word twice is a rhyme to annotators
    and none to the judge, so pairs of different words are given apart.
    """
    by_author: defaultdict[str, Tally] = defaultdict(Tally)
    every, different = Tally(), Tally()
    for stanza in read_stanzas(data):
        for one, other, rhymes in _pairs(stanza):
            heard = credit_rhyme(one, other) >= HALF
            for tally in (every, by_author[stanza.author], *([different] if one != other else [])):
                tally.count(heard, rhymes)
    least = min(by_author, key=lambda author: by_author[author].f1())
    return {
        "judge, pairs F1": every.f1(),
        "judge, pairs precision": every.hits / every.heard,
        "judge, pairs recall": every.hits / every.right,
        "judge, pairs of different words F1": different.f1(),
        "judge, mean F1 of an author": sum(tally.f1() for tally in by_author.values()) / len(by_author),
        f"judge, least F1 of an author ({least})": by_author[least].f1(),
    }


def kinds_left_out(data: Path) -> dict[str, Any]:
    """Return the judge's pairs F1 where a kind of rhyme counts only if the other authors have it.

    Kinds are the bonds, of which `older` has one for each pair of vowels. A kind counts for an author if the judge
    credits it, and more than half of the others' pairs of that kind rhyme, in verse of three of them or more.
    """
    counts = _count_kinds(data)
    whole, apart = Tally(), Tally()
    lost: set[str] = set()
    for author, own in counts.items():
        for kind, (pairs_of_kind, right) in own.items():
            others = [found[kind] for name, found in counts.items() if name != author and kind in found]
            kept = kind.credited and _is_shared(others)
            whole.count(kind.credited, right, pairs_of_kind)
            apart.count(kept, right, pairs_of_kind)
            if kind.credited and not kept:
                lost.add(kind.name)
    return {
        "judge, pairs F1": whole.f1(),
        "judge, pairs F1, kinds from other authors": apart.f1(),
        "kinds lost with some author": ", ".join(sorted(lost)) or "none",
    }


class Kind(NamedTuple):
    """A kind of rhyme, and whether the judge counts it."""

    name: str
    credited: bool


def _kind(one: str, other: str) -> Kind:
    found = find_bond(one, other)
    name = f"older {find_older_vowels(one, other)}" if found is Bond.OLDER else found.value
    return Kind(name, credit_rhyme(one, other) >= HALF)


def _is_shared(found: Sequence[tuple[int, int]]) -> bool:
    """Whether enough authors rhyme so: of each, the pairs of that kind, and how many of them rhyme."""
    pairs_of_kind, right = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0)
    return sum(rhyming > 0 for _, rhyming in found) >= MIN_AUTHORS and right > HALF * pairs_of_kind


def _count_kinds(data: Path) -> dict[str, dict[Kind, tuple[int, int]]]:
    """Return for each author and kind how many pairs there are, and how many of them rhyme."""
    counts: defaultdict[str, dict[Kind, tuple[int, int]]] = defaultdict(dict)
    for stanza in read_stanzas(data):
        for one, other, rhymes in _pairs(stanza):
            kind = _kind(one, other)
            seen, right = counts[stanza.author].get(kind, (0, 0))
            counts[stanza.author][kind] = seen + 1, right + rhymes
    return counts


def schemes_left_out(data: Path) -> dict[str, Any]:
    """Return the figures of inferred schemes with the odds as they are, learned again, and from other authors."""
    read = list(read_stanzas(data))
    authors = sorted({stanza.author for stanza in read})
    learned = learn_odds(read)
    figures = _agreement("odds as they are", [(stanza, ODDS) for stanza in read])
    figures["odds as they are: those that are learned"] = learned == ODDS
    apart = {author: learn_odds([stanza for stanza in read if stanza.author != author]) for author in authors}
    return figures | _agreement("odds from other authors", [(stanza, apart[stanza.author]) for stanza in read])


def learn_odds(read: Sequence[Read]) -> Odds:
    """Return the odds of bonds and units in annotated stanzas, in halves.

    Units are counted in the division that fits the annotated scheme best; as this depends on the odds of units, it is
    repeated from even odds on. Those that fewer than `MIN_AUTHORS` authors use are left out.
    """
    right, wrong = Counter[Bond](), Counter[Bond]()
    for stanza in read:
        for one, other, rhymes in _pairs(stanza):
            (right if rhymes else wrong)[find_bond(one, other)] += 1
    bonds = {
        bond: _halves(
            math.log((right[bond] + _SMOOTHING) / right.total()) - math.log((wrong[bond] + _SMOOTHING) / wrong.total())
        )
        for bond in Bond
    }
    return Odds(bonds, _learn_units(read))


def _learn_units(read: Sequence[Read]) -> dict[str, float]:
    schemes = Counter((stanza.scheme, stanza.author) for stanza in read)
    units: dict[str, float] = dict.fromkeys(CANDIDATES, _START)
    for _ in range(_ROUNDS):
        counts, users = Counter[str](), defaultdict[str, set[str]](set)
        for (scheme, author), times in schemes.items():
            for unit in divide_stanza(len(scheme), partial(_match_letters, scheme), units):
                counts[unit] += times
                users[unit].add(author)
        kept = [unit for unit in CANDIDATES if len(users[unit]) >= MIN_AUTHORS]
        total = sum(counts[unit] for unit in kept)
        units = {unit: math.log(counts[unit] / total) for unit in kept}
    return {unit: _halves(odds) for unit, odds in units.items()} | {UNRHYMED: UNRHYMED_ODDS}


def _match_letters(scheme: Sequence[str], i: int, j: int) -> float:
    return 5.0 if scheme[i] == scheme[j] else -4.5


def _halves(number: float) -> float:
    return round(2 * number) / 2


def words_left_out(data: Path) -> dict[str, Any]:
    """Return pairs F1 and lines whose count is reached: with the list of poetic words, with what others need, without.

    An author's words on the list that no other author of the verse has are taken from it before he is judged.
    """
    table = dict(poetic_words.load_poetic_words())
    words_of = _words_by_author(data)
    seen = Counter(word for words in words_of.values() for word in words & table.keys())
    figures: dict[str, Any] = {
        "words on the list": len(table),
        "of them in the verse": len(seen),
        "of them of one author": sum(times == 1 for times in seen.values()),
    }
    ways: dict[str, Callable[[str], Collection[str]]] = {
        "whole list": lambda author: table,
        "words of other authors": lambda author: [word for word in table if seen[word] > (word in words_of[author])],
        "no list": lambda author: (),
    }
    for name, allowed in ways.items():
        tables = {author: {word: table[word] for word in allowed(author)} for author in words_of}
        figures |= _judge_with(data, name, tables)
    _use_words(table)
    return figures


def _words_by_author(data: Path) -> dict[str, set[str]]:
    words: defaultdict[str, set[str]] = defaultdict(set)
    for stanza in stanzas(data):
        for line in stanza.lines:
            words[stanza.period.removesuffix(".txt")].update(read_line(line).words)
    for author, scanned in performances_by_author(data):
        words[author].update(read_line(scanned.text).words)
    return words


def _judge_with(data: Path, name: str, tables: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return the figures where each author is judged with a table of poetic words of his own."""
    read, lines = list(read_stanzas(data)), list(performances_by_author(data))
    tally, reached = Tally(), []
    for author, table in tables.items():
        _use_words(table)
        for one, other, rhymes in chain.from_iterable(_pairs(stanza) for stanza in read if stanza.author == author):
            tally.count(credit_rhyme(one, other) >= HALF, rhymes)
        for scanned in (scanned for writer, scanned in lines if writer == author):
            counts = pronunciation.find_line_counts(read_line(scanned.text).words)
            reached.append(bool(counts & {len(marks) for marks in scanned.stresses}))
    return {
        f"{name}: judge, pairs F1": tally.f1(),
        f"{name}: syllables, target reachable": sum(reached) / max(1, len(reached)),
    }


def _use_words(table: dict[str, Any]) -> None:
    """Make the judge use this table of poetic words; what it has stored of words is forgotten."""
    stored = poetic_words.load_poetic_words()
    stored.clear()
    stored.update(table)
    for module in (pronunciation, rimes, pairs):
        for name in dir(module):
            clear = getattr(getattr(module, name), "cache_clear", None)
            if clear and name not in ("load_poetic_words", "load_lexicon"):
                clear()


def read_stanzas(data: Path) -> Iterator[Read]:
    """Yield the annotated stanzas by their end words."""
    for stanza in stanzas(data):
        yield Read(_ends(stanza), tuple(stanza.scheme), stanza.period.removesuffix(".txt"))


def _ends(stanza: Stanza) -> tuple[str, ...]:
    words = [read_line(line).words for line in stanza.lines]
    return tuple(line[-1] if line else "" for line in words)


def _pairs(stanza: Read) -> Iterator[tuple[str, str, bool]]:
    """Yield two end words for each pair of lines, and whether they rhyme."""
    for (one, label), (other, mate) in combinations(zip(stanza.ends, stanza.scheme, strict=True), 2):
        yield one, other, label == mate


def _agreement(name: str, read: Sequence[tuple[Read, Odds]]) -> dict[str, Any]:
    tally, exact = Tally(), 0
    for stanza, odds in read:
        found = infer_scheme(stanza.ends, odds)
        size = range(len(found))
        given = {(i, j) for i, j in combinations(size, 2) if found[i] == found[j] != "x"}
        right = {(i, j) for i, j in combinations(size, 2) if stanza.scheme[i] == stanza.scheme[j]}
        tally.hits += len(given & right)
        tally.heard += len(given)
        tally.right += len(right)
        exact += given == right
    return {f"{name}: pairs F1": tally.f1(), f"{name}: exact schemes of {len(read)}": exact / len(read)}


SECTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "the judge's rhyme": judged_pairs,
    "kinds of rhyme, authors left out": kinds_left_out,
    "schemes, authors left out": schemes_left_out,
    "poetic words, authors left out": words_left_out,
}


def main() -> None:
    """Measure and report."""
    report_sections(__doc__ or "", SECTIONS)


if __name__ == "__main__":
    main()
