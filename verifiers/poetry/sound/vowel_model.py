"""How many syllables a spelling has: the share of each vowel group, learned from the dictionary by least squares.

The syllables of a word are the sum, over its groups of vowel letters, of the weights of the group in its
surroundings: the final `e` of `stone` learns a share near 0, the `ia` of `lion`'s kin near 2. The weights are
fitted by normalised least mean squares (Widrow and Hoff 1960), in an order that is the same in every build.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

_STEPS = (0.3, 0.2, 0.1, 0.05)  # learning rate of each pass; the weights of a word together move this far
_LEAST_SEEN = 3  # rarer surroundings are noise
_SCALE = 100  # weights are kept as whole hundredths
_VOWEL_GROUP = re.compile(r"[aeiouy]+")


def surroundings(word: str) -> list[str]:
    """Return the features of each vowel group: the group with up to two letters before and three after.

    >>> surroundings("at")
    ['a', 'at', 'at$', '^a', '^at', '^at$', '^^at$', '^at$$']
    """
    marked = f"^^{word}$$$"
    found: list[str] = []
    for group in _VOWEL_GROUP.finditer(marked):
        start, end = group.span()
        found += [marked[start : end + after] for after in (0, 1, 2)]
        found += [marked[start - 1 : end + after] for after in (0, 1, 2)]
        found += [marked[start - 2 : end + 2], marked[start - 1 : end + 3]]
    return found


def learn_shares(examples: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the weights, in hundredths of a syllable, for pairs of word and syllables."""
    rows = [(surroundings(word), syllables) for word, syllables in examples]
    seen = Counter(feature for features, _ in rows for feature in features)
    rows = [([feature for feature in features if seen[feature] >= _LEAST_SEEN], count) for features, count in rows]
    weights: defaultdict[str, float] = defaultdict(float)
    order = random.Random(0)
    for step in _STEPS:
        order.shuffle(rows)
        for features, syllables in rows:
            if features:
                missing = step * (syllables - sum(weights[feature] for feature in features)) / len(features)
                for feature in features:
                    weights[feature] += missing
    whole = {feature: round(weight * _SCALE) for feature, weight in sorted(weights.items())}
    return {feature: weight for feature, weight in whole.items() if weight}


def estimate(shares: Mapping[str, int], word: str) -> int:
    """Return the likeliest number of syllables of a word, at least one."""
    return max(1, round(sum(shares.get(feature, 0) for feature in surroundings(word)) / _SCALE))
