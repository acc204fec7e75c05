"""Poems to the letter of a form, and poems that break it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from learnable.data.records import Prompt
from learnable.train.policy.lexicon import load_lexicon
from learnable.train.policy.lines import ANAPAESTIC_LINE, FREE_LINE, IAMBIC_LINE, draw_ends, write_line
from learnable.train.policy.noise import HOPELESS, find_level
from learnable.verifiers.poetry.forms import constrain_form, find_form, span
from learnable.verifiers.poetry.language.model import load_model
from learnable.verifiers.poetry.language.reading import read_language
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.registry import find_verifier

# Long forms are hard enough for the model: only topics without hope are as noisy there as elsewhere.
GENTLE = {
    "Quatrain": 0.7,
    "Sonnet": 0.35,
    "ShakespeareanSonnet": 0.35,
    "Limerick": 0.7,
    "Villanelle": 0.0,
    "Verse": 0.6,
}


def write_poem(prompt: Prompt, rng: random.Random, noisy: bool = True) -> str:
    """Answer a poetry prompt; with `noisy`, some topics break the form more often than others."""
    spec = prompt.spec
    form = constrain_form(find_form(spec["form"]), spec)
    # Open forms are mostly written in their first scheme.
    scheme = rng.choice(form.schemes[: 2 if form.name == "Quatrain" else 1]) if form.schemes else ()
    count = form.line_count or 4
    lengths = [span(length)[0] for length in form.syllables] * (1 if len(form.syllables) > 1 else count)
    fault = _draw_fault(rng, prompt.form, spec["topic"]) if noisy else ""
    if fault == "syllables":
        shift = rng.choice((-2, 2, 3))
        lengths = [max(3, length + shift) for length in lengths]
    metre = {"Limerick": ANAPAESTIC_LINE, "Haiku": FREE_LINE}.get(
        form.name, IAMBIC_LINE
    )  # verse is iambic but for these
    for _ in range(5):
        lines = _write_lines(rng, lengths, scheme, spec["topic"], metre)
        if _is_readable(lines) and (fault or _passes(prompt, lines)):
            break
    if fault == "lines":
        lines = lines[:-1] if len(lines) > 1 and rng.random() < 0.5 else [*lines, lines[0]]
    return "\n".join(lines)


def _draw_fault(rng: random.Random, form: str, topic: str) -> str:
    # Never the rhymes: they are the hardest to learn, and wrong ones would teach the model not to try.
    level = find_level("poetry", topic)
    if level < HOPELESS:
        level *= GENTLE.get(form, 1.0)
    return rng.choice(("lines", "syllables")) if rng.random() < level else ""


def _is_readable(lines: Sequence[str]) -> bool:
    """Whether the lines read as language, with something to spare."""
    return read_language([read_line(line).words for line in lines]).strict >= 0.55  # a poem needs .5


def _passes(prompt: Prompt, lines: Sequence[str]) -> bool:
    return bool(find_verifier("poetry").score("\n".join(lines), prompt=prompt.text, spec=prompt.spec).passed)


def _write_lines(
    rng: random.Random, lengths: Sequence[int], scheme: Sequence[str], topic: str, metre: str
) -> list[str]:
    ends = _draw_all_ends(rng, scheme or ("x",) * len(lengths))
    refrains: dict[str, str] = {}
    lines: list[str] = []
    for place, length in enumerate(lengths):
        label = scheme[place] if scheme else "x"
        if label in refrains:
            lines.append(refrains[label])
            continue
        line = _write_best(rng, length, ends[place], topic if place == 0 else None, metre)
        if len(label) > 1:
            refrains[label] = line
        lines.append(line)
    return lines


def _write_best(rng: random.Random, length: int, end: str, topic: str | None, metre: str) -> str:
    """Return of a few lines the one that reads most as language."""
    lines = [write_line(rng, length, end, topic, metre) for _ in range(4)]
    model = load_model().neighbours
    return max(lines, key=lambda line: model.score(read_line(line).words) / len(line.split()))


def _draw_all_ends(rng: random.Random, labels: Sequence[str]) -> dict[int, str]:
    """Return a last word for each line that is written: one rhyme class a letter, no word and no class twice otherwise.

    A refrain is written once.
    """
    letters = {
        place: label[0].lower() for place, label in enumerate(labels) if len(label) == 1 or label not in labels[:place]
    }
    counts = Counter(letter for letter in letters.values() if letter != "x")
    unrhymed = [place for place, letter in letters.items() if letter == "x"]
    roomy = load_lexicon().find_classes(max(counts.values(), default=1))
    classes = iter(rng.sample(roomy, min(len(roomy), len(counts) + len(unrhymed))))
    drawn = {letter: draw_ends(rng, next(classes), count) for letter, count in counts.items()}
    loose = {place: draw_ends(rng, next(classes), 1)[0] for place in unrhymed}
    return {place: loose[place] if letter == "x" else drawn[letter].pop() for place, letter in letters.items()}
