"""Does human verse pass its form, do tricks and damaged poems fail, and what does the whole judgement cost?

Each section takes the folder of public verse and returns figures by name.

    python -m benchmarks.poetry.forms [--section "human verse" ...] [--json FILE]
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.poetry.data import human_poems, rows
from benchmarks.poetry.mutations import distortions, mutations
from benchmarks.poetry.run import report_sections
from benchmarks.poetry.speed import count_plainly
from learnable.data.records import Score
from learnable.verifiers.poetry.forms import poem_forms
from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.registry import find_verifier

ROOT = Path(__file__).parents[2]
HALF = 0.5
POEMS = 1_000_000


def human_verse(data: Path) -> dict[str, Any]:
    """Return the share of human poems that pass their form, and their mean reward."""
    figures: dict[str, Any] = {}
    for form, texts in human_poems(data).items():
        scores = [_judged(form, "\n".join(lines)) for lines in texts]
        figures[f"{form}: poems"] = len(scores)
        figures[f"{form}: pass"] = sum(bool(score.passed) for score in scores) / max(1, len(scores))
        figures[f"{form}: mean reward"] = sum(score.reward or 0.0 for score in scores) / max(1, len(scores))
    return figures


def tricks(data: Path) -> dict[str, Any]:
    """Return how many of the degenerate poems pass, and how many earn half the reward."""
    figures: dict[str, Any] = {}
    own = ROOT / "tests" / "golden" / "poetry_hacks.jsonl"
    for name, path in (("collected", data / "hacks.jsonl"), ("our own", own)):
        known = [row for row in rows(path) if row["form"] in poem_forms()]
        scores = [_judged(row["form"], row["text"], row.get("prompt", "")) for row in known]
        figures[f"{name}: tricks"] = len(scores)
        figures[f"{name}: of a form that is not declared"] = len(rows(path)) - len(known)
        figures[f"{name}: pass"] = sum(bool(score.passed) for score in scores)
        figures[f"{name}: reward of {HALF} or more"] = sum((score.reward or 0.0) >= HALF for score in scores)
    return figures


def speed(data: Path) -> dict[str, Any]:
    """Return sonnets a second on one core, and what `pronouncing` takes to look up the same.

    First come poems whose words are partly new too. Then come new lines made of known words, as in the completions of
    one policy: the front of each line with the back of another poem's line, which keeps the rhymes. Last come known
    poems.
    """
    seen = ["\n".join(row["lines"]) for row in rows(data / "shakespeare_sonnets.jsonl")]
    every = [
        [line for stanza in row["stanzas"] for line in stanza["lines"]] for row in rows(data / "rhyme_schemes.jsonl")
    ]
    new = [lines for lines in every if len(lines) == 14]
    crossed = [[*map(_crossed, one, other)] for one, other in zip(new, [*new[1:], new[0]], strict=True)]
    work = {
        "judgement": lambda poem: _judged("ShakespeareanSonnet", poem),
        "pronouncing": lambda poem: count_plainly(poem.splitlines()),
    }
    for way in work.values():
        _rate(way, seen)  # both with their dictionaries loaded
    return {
        f"{name}, {what}": _rate(way, ["\n".join(lines) for lines in poems])
        for what, poems in (("poems new", new), ("lines new, words seen", crossed), ("poems seen", new * 2))
        for name, way in work.items()
    }


def _crossed(one: str, other: str) -> str:
    front, back = one.split(), other.split()
    return " ".join([*front[: len(front) // 2], *back[len(back) // 2 :]])


def memory(data: Path) -> dict[str, Any]:
    """Return the MiB in use after a tenth, a half and all of a million couplets of random dictionary words."""
    words, chance = [word for word in load_lexicon().entries if word.isalpha()], random.Random(0)
    figures = {}
    for number in range(1, POEMS + 1):
        _judged("Couplet", "\n".join(" ".join(chance.choices(words, k=6)) for _ in range(2)))
        if number in (POEMS // 10, POEMS // 2, POEMS):
            figures[f"MiB after {number:,} poems"] = _resident()
    return figures


def _resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


SECTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "human verse": human_verse,
    "tricks": tricks,
    "mutations": mutations,
    "distortions": distortions,
    "judge": speed,
    "memory": memory,
}


def main() -> None:
    """Measure and report."""
    report_sections(__doc__ or "", SECTIONS)


def _judged(form: str, text: str, prompt: str = "") -> Score:
    return find_verifier("poetry").score(text, prompt=prompt, spec={"form": form})


def _rate(work: Callable[[str], object], poems: Iterable[str]) -> float:
    poems = list(poems)
    start = time.process_time()
    for poem in poems:
        work(poem)
    return len(poems) / max(1e-9, time.process_time() - start)


if __name__ == "__main__":
    main()
