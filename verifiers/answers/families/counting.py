"""Counting prompts: letters in a word, of a dictionary or made up, the length of a word, words in a list.

Short lists are trivial on purpose, as part of a real pool is.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import (
    Family,
    UsualNumber,
    check_knobs,
    distinct,
    knob,
    on_scale,
    shuffled_grid,
    shuffled_range,
)
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.answers.families.questions import CURRICULA, NATURAL_QUESTIONS
from learnable.verifiers.answers.families.words import COUNTED_WORDS, LISTED_WORDS

COUNTING_FORMS = ("LetterCount", "WordLength", "WordCount", "ShortList")
MADE_WORD = "MadeWord"
MADE_CONSONANTS, MADE_VOWELS = "bdklmnprst", "aeiou"
LETTER_TEMPLATES = (
    "How many times does '{letter}' appear in '{word}'?",
    "Count the letter '{letter}' in '{word}'.",
)
LIST_TEMPLATES = ("Count the words: {words}", "How many words are in this list? {words}")
MAX_SHORT_LIST = 2  # words of a ShortList at most
MAX_LETTERS = 5  # that are asked for in one word of the dictionary


@dataclass(frozen=True, slots=True)
class CountingKnobs:
    """`most_words`: how long the lists of WordCount get, from three words on.

    `word_length`: how many letters words have whose letters are counted: those of MadeWord just so many, those of the
    dictionary at most, or any number unless it is set.
    """

    most_words: int = knob(12, MAX_SHORT_LIST + 1, 200)
    word_length: int = knob(UsualNumber(8), 2, 30)

    def __post_init__(self) -> None:
        check_knobs("counting", self)


def generate(form: str, seed: int, knobs: CountingKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one counting form."""
    if form in ("WordCount", "ShortList"):
        return _lists(form, seed, _list_lengths(form, knobs))
    if form == MADE_WORD:
        return _made_words(seed, knobs.word_length)
    words = _words(knobs)
    return distinct(_letters(seed, words) if form == "LetterCount" else _lengths(seed, words))


def count_problems(forms: Sequence[str], knobs: CountingKnobs) -> int:
    """Return how many problems the forms have."""
    total = sum(math.prod([len(LISTED_WORDS)] * length) for form in forms for length in _list_lengths(form, knobs))
    words = _words(knobs)
    if "LetterCount" in forms:
        total += len({(word, _letter(word, turn)) for word in words for turn in range(MAX_LETTERS)})
    if "WordLength" in forms:
        total += len(set(words))
    return total + math.prod(map(len, _letters_of(knobs.word_length))) * (MADE_WORD in forms)


def _words(knobs: CountingKnobs) -> Sequence[str]:
    """Return the words of the dictionary that are no longer than the knob says."""
    if UsualNumber.is_kept(knobs.word_length):
        return COUNTED_WORDS
    return [word for word in COUNTED_WORDS if len(word) <= knobs.word_length]


def _letters(seed: int, words: Sequence[str]) -> Iterator[Prompt]:
    # Mostly letters that the word has; some that it has not, so that 0 is an answer too.
    for word, turn, template in shuffled_grid(f"letters:{seed}", words, range(MAX_LETTERS), LETTER_TEMPLATES):
        yield _ask_letter("LetterCount", _letter(word, turn), word, template)


def _letter(word: str, turn: int) -> str:
    rng = random.Random(f"{word}:{turn}")
    return rng.choice("aeioust") if turn == 0 else rng.choice(word)


def _ask_letter(form: str, letter: str, word: str, template: str) -> Prompt:
    count = word.count(letter)
    text = template.format(letter=letter, word=word)
    return _prompt(form, text, count, on_scale(1 + len(word) / 4 + 2 * count), f"{letter} {word}")


def _letters_of(length: int) -> list[str]:
    """Return the letters that each place of a made word may have."""
    return [(MADE_CONSONANTS, MADE_VOWELS)[place % 2] for place in range(length)]


def _made_words(seed: int, length: int) -> Iterator[Prompt]:
    for *letters, template in shuffled_grid(f"{MADE_WORD}:{seed}", *_letters_of(length), LETTER_TEMPLATES):
        word = "".join(letters)
        turn = random.Random(word).randrange(MAX_LETTERS)  # one letter a word, so that the words are the problems
        yield _ask_letter(MADE_WORD, _letter(word, turn), word, template)


def _lengths(seed: int, words: Sequence[str]) -> Iterator[Prompt]:
    templates = ("How many letters are in '{word}'?", "Count the letters of '{word}'.")
    for word, template in shuffled_grid(f"lengths:{seed}", words, templates):
        yield _prompt("WordLength", template.format(word=word), len(word), on_scale(len(word) - 1), word)


def _list_lengths(form: str, knobs: CountingKnobs) -> range:
    if form == "ShortList":
        return range(1, MAX_SHORT_LIST + 1)
    return range(MAX_SHORT_LIST + 1, knobs.most_words + 1) if form == "WordCount" else range(0)


def _lists(form: str, seed: int, lengths: range) -> Iterator[Prompt]:
    """Yield every list of these lengths once in each wording; all lengths are as frequent until one runs dry."""
    rng = random.Random(f"{form}:{seed}")
    size = len(LISTED_WORDS)
    places = {n: shuffled_range(size**n * len(LIST_TEMPLATES), f"{form}:{seed}:{n}") for n in lengths}
    while places:
        length = rng.choice(list(places))
        if (place := next(places[length], None)) is None:
            del places[length]
            continue
        place, template = divmod(place, len(LIST_TEMPLATES))
        words = " ".join(LISTED_WORDS[place // size**n % size] for n in range(length))
        yield _prompt(form, LIST_TEMPLATES[template].format(words=words), length, on_scale(length), words)


def _prompt(form: str, text: str, answer: int, difficulty: float, counted: str) -> Prompt:
    problem = name_problem("counting", form, counted)
    return Prompt(text, "counting", {"answer": answer}, "counting", form, difficulty, named_problem=problem)


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs the knobs to be, as far as its form has to do with them."""
    if prompt.form in ("WordCount", "ShortList"):
        answer = prompt.spec.get("answer")
        return {"most_words": float(answer)} if isinstance(answer, int) else {}
    quoted = re.findall(r"'(\w+)'", prompt.text)
    return {"word_length": max(map(len, quoted))} if quoted else {}


COUNTING = Family(
    "counting",
    COUNTING_FORMS,
    CountingKnobs,
    generate,
    {"letters": "LetterCount", "length": "WordLength", "words": "WordCount"},
    (MADE_WORD,),
    count_problems,
    usual_ranges={"most_words": "3..40"},
    needs=read_needed,
    readable=("most_words", "word_length"),
    curriculum=CURRICULA / "counting.toml",
    kinds={
        "letters": QuestionKind(
            re.compile(r"'(?P<letter>\w)' (?:appear )?in '(?P<word>\w+)'"), (("letter",), ("word",))
        ),
        "lengths": QuestionKind(re.compile(r"letters (?:are in|of) '(?P<word>\w+)'"), (("word",),)),
        "lists": QuestionKind(re.compile(r"(?:words:|list\?) (?P<words>.+)$"), (("words",),)),
    },
    natural=NATURAL_QUESTIONS,
)
