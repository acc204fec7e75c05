"""The documents that the policy learns from: how many of each form, and when in the run they come."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from learnable.data.records import Prompt
from learnable.data.sources.gym.location import is_gym
from learnable.data.sources.gym.prompts import gym_prompts
from learnable.train.policy.answers import write_answer
from learnable.train.policy.lexicon import load_lexicon
from learnable.verifiers.families.registry import DEFAULT_FAMILIES

RHYME_DRILL = "RhymeDrill"
# Documents of each form at scale 1. `count_documents` adds those of programs.
DOCUMENTS = {
    RHYME_DRILL: 42000,
    "Addition": 18000,
    "Subtraction": 18000,
    "Multiplication": 22000,
    "LargeSums": 1500,
    "LargeProducts": 1500,
    "GreaterThan": 6000,
    "LessThan": 6000,
    "WideGap": 14000,
    "LetterCount": 12000,
    "WordLength": 5000,
    "WordCount": 8000,
    "ShortList": 4000,
    "Couplet": 26000,
    "Quatrain": 30000,
    "Haiku": 9000,
    "Limerick": 16000,
    "Sonnet": 11000,
    "ShakespeareanSonnet": 10000,
    "Villanelle": 700,
    "Verse": 34000,
}
# Of those, what is learned once more at the end: two sonnets' rhymes take the longest to learn.
AGAIN = dict.fromkeys(DOCUMENTS, 0.08) | {"Sonnet": 0.8, "ShakespeareanSonnet": 0.6, RHYME_DRILL: 0.0, "Couplet": 0.14}
# What the second run has besides, from the generators of reasoning-gym as they are installed: its data sets too get a
# policy that is partly right.
GYM_DOCUMENTS = {
    "reasoning-gym:letter_counting?min_words=1&max_words=8": 4000,
    "reasoning-gym:count_bits?min_n=1&max_n=1000": 6000,
    "reasoning-gym:lcm?min_value=1&max_value=6": 3000,
    "reasoning-gym:lcm?min_value=1&max_value=20": 1500,
    "reasoning-gym:chain_sum?num_terms=2&num_digits=1": 3000,
    "reasoning-gym:chain_sum?num_terms=3&num_digits=1": 12000,
    "reasoning-gym:chain_sum?num_terms=2&num_digits=2": 2000,
}


@dataclass(frozen=True, slots=True)
class Document:
    """One prompt with one completion; `place` in [0, 1] orders the run."""

    place: float
    form: str
    prompt: str
    completion: str


def write_corpus(scale: float, seed: int | str, processes: int = 2, *, again: bool = False) -> list[Document]:
    """Return all documents of a run in the order of training, `again` those of the second run.

    The same scale and seed give the same corpus.
    """
    counts = {
        form: round(count * scale * (find_share(form) if again else 1)) for form, count in count_documents().items()
    }
    if again:
        counts |= {location: round(count * scale) for location, count in GYM_DOCUMENTS.items()}
    chunk_size = 2000
    jobs = [
        (form, min(chunk_size, count - start), f"{seed}:{start}")
        for form, count in counts.items()
        for start in range(0, count, chunk_size)
    ]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        chunks = pool.starmap(write_documents, jobs, chunksize=1)
    return sorted((document for chunk in chunks for document in chunk), key=lambda document: document.place)


def count_documents() -> dict[str, int]:
    """Return the number of documents of every form at scale 1."""
    counts = dict(DOCUMENTS)
    programs = DEFAULT_FAMILIES["programs"].forms  # they share 18,000 evenly
    counts |= {form: 18_000 // len(programs) for form in programs}
    return counts


def find_share(form: str) -> float:
    """Return the share of a form's documents that the second run has again, others of the same kind."""
    return AGAIN.get(form, 0.08)


def write_documents(form: str, count: int, seed: str) -> list[Document]:
    """Return `count` documents of one form, or of a location of reasoning-gym."""
    rng = random.Random(f"{form}:{seed}")
    # The part of the run, 0 to 1, in which a form's documents come; the other forms take all of it.
    parts = {
        RHYME_DRILL: (0.0, 0.6),
        "Sonnet": (0.25, 1.0),
        "ShakespeareanSonnet": (0.25, 1.0),
        "Villanelle": (0.3, 1.0),
    }
    first, last = parts.get(form, (0.0, 1.0))
    if form == RHYME_DRILL:
        pairs = [_write_drill(rng) for _ in range(count)]
    elif is_gym(form):
        pairs = [(prompt.text, str(prompt.spec["answer"])) for prompt in islice(_endless_gym(form, rng), count)]
    else:
        pairs = [(prompt.text, write_answer(prompt, rng)) for prompt in islice(_endless(form, rng), count)]
    return [Document(rng.uniform(first, last), form, prompt, completion) for prompt, completion in pairs]


def _endless(form: str, rng: random.Random) -> Iterator[Prompt]:
    family = next(family for family in DEFAULT_FAMILIES.values() if form in family.forms)
    while True:
        yield from family.generate(form, rng.randrange(2**32), family.knobs())


def _endless_gym(location: str, rng: random.Random) -> Iterator[Prompt]:
    """Yield the questions at a location, again once all were asked. Raises `LearnableError` without reasoning-gym."""
    questions = []
    for prompt in gym_prompts(location, rng.randrange(2**31)):
        questions.append(prompt)
        yield prompt
    while True:
        yield from rng.sample(questions, len(questions))


def _write_drill(rng: random.Random) -> tuple[str, str]:
    lexicon = load_lexicon()
    words = rng.choice(lexicon.ends)
    chosen = rng.sample(words, min(len(words), rng.choice((2, 4, 6))))
    # A word at the head of a line or after a space is another token: drill the one that ends lines.
    completion = "\n".join(f"The {word}" for word in chosen[1:])
    template = rng.choice(("What rhymes with {word}?", "Name words that rhyme with {word}."))
    return template.format(word=chosen[0]), completion
