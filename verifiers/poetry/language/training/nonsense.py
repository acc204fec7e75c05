"""Grammatical nonsense: words drawn by part of speech into templates of syntax, with no heed to what they mean.

The bundled policy learned its verse from such lines up to verifier version 4. It is salad.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

PARTS = {
    "D": "determiner",
    "J": "adjective",
    "N": "noun",
    "V": "transitive",
    "I": "intransitive",
    "R": "adverb",
    "B": "linking",
    "P": "preposition",
    "C": "conjunction",
    "S": "pronoun",
}
# What a line may say before its last word, by that word's part of speech.
BODIES = {
    "noun": ("D", "DJ", "SVD", "SVDJ", "DNVD", "DNVDJ", "DJNVD", "SIPD", "DNIPD", "DNIPDJ", "DJNIPD", "DJNIPDJ"),
    "intransitive": ("S", "DN", "DJN", "DNPDN", "DJNPDN", "DNIC", "DNVDNC"),
    "adverb": ("I", "DNI", "DJNI", "SI", "SVDN", "DNVDN", "SVDJN", "DNVDJN"),
    "adjective": ("B", "SB", "DNB", "DJNB", "DNPDNB", "DJNPDNB"),
}
OPENINGS = ("", "", "C", "PDN", "PDJN", "SIPDN", "DNIC", "DNVDNC", "SVDNC")


@cache
def load_words() -> Mapping[str, Sequence[str]]:
    """Return the words of each part of speech, some of them more than once."""
    folder = resources.files("learnable.verifiers.poetry.language.training")
    text = folder.joinpath("nonsense.toml").read_text(encoding="utf-8")
    return {part: words.split() for part, words in tomllib.loads(text).items()}


def write_nonsense(chance: random.Random, words: int, last: str | None = None, part: str = "noun") -> tuple[str, ...]:
    """Return a line of about so many words, which ends on `last` where one is given, of that part of speech."""
    lists = load_words()
    if last is None:
        part = chance.choice(tuple(BODIES))
        last = chance.choice(lists[part])
    templates = sorted(
        (opening + body for opening in OPENINGS for body in BODIES[part]), key=lambda tags: abs(len(tags) + 1 - words)
    )
    return (*(chance.choice(lists[PARTS[tag]]) for tag in chance.choice(templates[:8])), last)
