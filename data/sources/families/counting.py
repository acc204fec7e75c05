"""Counting prompts: letters in a word, the length of a word, words in a list.

Short lists are trivial on purpose, as part of a real pool is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.families.words import COUNTED_WORDS, LISTED_WORDS
from learnable.data.sources.family import Family, distinct, on_scale, require, shuffled_grid, shuffled_range

FORMS = ("LetterCount", "WordLength", "WordCount", "ShortList")
LETTER_TEMPLATES = (
    "How many times does '{letter}' appear in '{word}'?",
    "Count the letter '{letter}' in '{word}'.",
)
LENGTH_TEMPLATES = ("How many letters are in '{word}'?", "Count the letters of '{word}'.")
LIST_TEMPLATES = ("Count the words: {words}", "How many words are in this list? {words}")
SHORT = 2  # words of a ShortList at most
LIST_POOL = 1_000_000


@dataclass(frozen=True, slots=True)
class CountingKnobs:
    """`most_words`: how long the lists of WordCount get, from three words on."""

    most_words: int = 12

    def __post_init__(self) -> None:
        require("counting", "most_words", self.most_words, SHORT + 1, 200)


def generate(form: str, seed: int, knobs: CountingKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one counting form."""
    if form == "WordCount":
        return distinct(_lists(form, seed, SHORT + 1, knobs.most_words))
    if form == "ShortList":
        return distinct(_lists(form, seed, 1, SHORT))
    return distinct(_letters(seed) if form == "LetterCount" else _lengths(seed))


def _letters(seed: int) -> Iterator[Prompt]:
    # Mostly letters that the word has; some that it has not, so that 0 is an answer too.
    for word, turn, template in shuffled_grid(f"letters:{seed}", COUNTED_WORDS, range(5), LETTER_TEMPLATES):
        rng = random.Random(f"{word}:{turn}")
        letter = rng.choice("aeioust") if turn == 0 else rng.choice(word)
        count = word.count(letter)
        text = template.format(letter=letter, word=word)
        yield _prompt("LetterCount", text, count, on_scale(1 + len(word) / 4 + 2 * count), f"{letter} {word}")


def _lengths(seed: int) -> Iterator[Prompt]:
    for word, template in shuffled_grid(f"lengths:{seed}", COUNTED_WORDS, LENGTH_TEMPLATES):
        yield _prompt("WordLength", template.format(word=word), len(word), on_scale(len(word) - 1), word)


def _lists(form: str, seed: int, least: int, most: int) -> Iterator[Prompt]:
    for index in shuffled_range(LIST_POOL, f"{form}:{seed}"):
        rng = random.Random(index)
        words = [rng.choice(LISTED_WORDS) for _ in range(rng.randint(least, most))]
        text = rng.choice(LIST_TEMPLATES).format(words=" ".join(words))
        yield _prompt(form, text, len(words), on_scale(len(words)), " ".join(words))


def _prompt(form: str, text: str, answer: int, difficulty: float, counted: str) -> Prompt:
    problem = name_problem("counting", form, counted)
    return Prompt(text, "counting", {"answer": answer}, "counting", form, difficulty, named_problem=problem)


COUNTING = Family(
    "counting",
    FORMS,
    CountingKnobs,
    generate,
    {"letters": "LetterCount", "length": "WordLength", "words": "WordCount"},
)
