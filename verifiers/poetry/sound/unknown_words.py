"""What the spelling of an unknown word says of its sound, learned from the dictionary when the lexicon is built.

Endings: a word is looked up by its longest ending that the table has. The distribution of each suffix over the
dictionary is smoothed towards that of the suffix one letter shorter. A suffix stays in the table only where its best
guess differs from the shorter one's.

Syllables: the number of syllables of a word is the sum, over its groups of vowel letters, of the weights of the group
in its surroundings. The final `e` of `stone` learns a weight near 0, the `io` of `lion` one near 2. The weights are
fitted by normalised least mean squares (Widrow and Hoff 1960), in an order that is the same in every build.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from learnable.verifiers.poetry.sound.phones import Phones, find_last_rime, read_stresses

T = TypeVar("T")

LONGEST_ENDING = 8  # letters; the mark of a word's start counts as one
SMOOTHING = 1.0  # the shorter suffix counts as much as this many words
START = "^"

_LETTERS = re.compile(r"[a-z]+")
_VOWEL_GROUP = re.compile(r"[aeiouy]+")
_SCALE = 100  # weights are stored as whole hundredths


@dataclass(frozen=True, slots=True)
class SpellingModels:
    """The models of unknown words, as they are learned from a dictionary.

    `shares` gives the weight of each vowel group's surroundings in hundredths of a syllable, `main_stresses` the
    syllable with the main stress by ending (counted from the end: 1 is the last), `rimes` the sounds of the last
    syllable from its vowel on by ending.
    """

    shares: dict[str, int]
    main_stresses: dict[str, int]
    rimes: dict[str, Phones]


def learn_models(entries: Mapping[str, Phones]) -> SpellingModels:
    """Return the models learned from words and their first pronunciations."""
    examples = select_examples(entries)
    return SpellingModels(
        learn_shares((word, len(read_stresses(phones))) for word, phones in examples),
        learn_endings((word, find_main_stress(phones)) for word, phones in examples),
        learn_endings((word, find_last_rime(phones)) for word, phones in examples),
    )


def select_examples(entries: Mapping[str, Phones]) -> list[tuple[str, Phones]]:
    """Return the sorted entries to learn from: words of two or more letters, without apostrophes and digits."""
    return [(word, entries[word]) for word in sorted(entries) if len(word) > 1 and _LETTERS.fullmatch(word)]


def find_main_stress(phones: Phones) -> int:
    """Return which syllable has the main stress, counted from the end: 1 is the last."""
    marks = read_stresses(phones)
    return len(marks) - marks.find("1") if "1" in marks else len(marks)


def learn_endings(examples: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return the pruned table of suffixes for pairs of word and target.

    The empty suffix has the most common target of all.
    """
    counts: defaultdict[str, Counter[T]] = defaultdict(Counter)
    for word, target in examples:
        marked = START + word
        for start in range(max(0, len(marked) - LONGEST_ENDING), len(marked) + 1):
            counts[marked[start:]][target] += 1
    shares: dict[str, dict[T, float]] = {}
    best: dict[str, T] = {}
    table: dict[str, T] = {}
    for suffix in sorted(counts, key=lambda suffix: (len(suffix), suffix)):
        shares[suffix] = own = _smooth(counts[suffix], shares.get(suffix[1:], {}) if suffix else {})
        # Ties go to the first in sorting order, so that every build makes the same table.
        best[suffix] = likeliest = max(sorted(own, key=repr), key=own.__getitem__)
        if not suffix or likeliest != best[suffix[1:]]:
            table[suffix] = likeliest
    return table


def _smooth(counts: Counter[T], shorter: Mapping[T, float]) -> dict[T, float]:
    total = counts.total() + SMOOTHING
    return {target: (count + SMOOTHING * shorter.get(target, 0.0)) / total for target, count in counts.items()}


def guess_by_ending(table: Mapping[str, T], word: str) -> T:
    """Return the target of the longest ending of `word` that the table has."""
    marked = START + word
    for start in range(max(0, len(marked) - LONGEST_ENDING), len(marked)):
        if marked[start:] in table:
            return table[marked[start:]]
    return table[""]


def find_features(word: str) -> list[str]:
    """Return the features of each vowel group: the group with up to two letters before and three after.

    >>> find_features("at")
    ['a', 'at', 'at$', '^a', '^at', '^at$', '^^at$', '^at$$']
    """
    marked = f"^^{word}$$$"
    features: list[str] = []
    for group in _VOWEL_GROUP.finditer(marked):
        start, end = group.span()
        features += [marked[start : end + after] for after in (0, 1, 2)]
        features += [marked[start - 1 : end + after] for after in (0, 1, 2)]
        features += [marked[start - 2 : end + 2], marked[start - 1 : end + 3]]
    return features


def learn_shares(examples: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the weight of each feature, in hundredths of a syllable, for pairs of word and number of syllables."""
    rows = [(find_features(word), syllables) for word, syllables in examples]
    seen = Counter(feature for features, _ in rows for feature in features)
    # Surroundings that are seen once or twice are noise.
    rows = [([feature for feature in features if seen[feature] >= 3], count) for features, count in rows]
    weights: defaultdict[str, float] = defaultdict(float)
    order = random.Random(0)
    # The learning rate of each pass: the weights of a word together move this far.
    for step in (0.3, 0.2, 0.1, 0.05):
        order.shuffle(rows)
        for features, syllables in rows:
            if features:
                missing = step * (syllables - sum(weights[feature] for feature in features)) / len(features)
                for feature in features:
                    weights[feature] += missing
    whole = {feature: round(weight * _SCALE) for feature, weight in sorted(weights.items())}
    return {feature: weight for feature, weight in whole.items() if weight}


def estimate_from_spelling(shares: Mapping[str, int], word: str) -> int:
    """Return the most likely number of syllables of a word, at least one."""
    return max(1, round(sum(shares.get(feature, 0) for feature in find_features(word)) / _SCALE))
