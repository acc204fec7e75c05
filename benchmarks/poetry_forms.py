"""Does human verse pass its form, do tricks fail, and how fast is the whole judgement?

Each section takes the folder of public verse and returns figures by name, so that `benchmarks.poetry` can print them too.

    python -m benchmarks.poetry_forms [--section "human verse" ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pronouncing

from learnable.data.forms import poem_forms
from learnable.data.records import Score
from learnable.verifiers.registry import find_verifier

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LEARNABLE_DATA", ROOT.parent / "shared" / "data")) / "poetry"
STANZAS = {"OttavaRima": "abababcc", "RhymeRoyal": "ababbcc", "SpenserianStanza": "ababbcbcc"}
HALF = 0.5

Rows = list[dict[str, Any]]


def human_verse(data: Path) -> dict[str, Any]:
    """Return the share of human poems that pass their form, and their mean reward."""
    poems: dict[str, list[list[str]]] = {
        "ShakespeareanSonnet": [row["lines"] for row in _rows(data / "shakespeare_sonnets.jsonl")],
        "Limerick": [row["lines"] for row in _rows(data / "limericks.jsonl")],
    }
    by_scheme: dict[str, list[list[str]]] = defaultdict(list)
    for row in _rows(data / "rhyme_schemes.jsonl"):
        for stanza in row["stanzas"]:
            by_scheme[_letters(stanza["scheme"])].append(stanza["lines"])
    poems |= {form: by_scheme[scheme] for form, scheme in STANZAS.items()}
    figures: dict[str, Any] = {}
    for form, texts in poems.items():
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
        known = [row for row in _rows(path) if row["form"] in poem_forms()]
        scores = [_judged(row["form"], row["text"], row.get("prompt", "")) for row in known]
        figures[f"{name}: tricks"] = len(scores)
        figures[f"{name}: of a form that is not declared"] = len(_rows(path)) - len(known)
        figures[f"{name}: pass"] = sum(bool(score.passed) for score in scores)
        figures[f"{name}: reward of {HALF} or more"] = sum((score.reward or 0.0) >= HALF for score in scores)
    return figures


def speed(data: Path) -> dict[str, Any]:
    """Return sonnets a second on one core: new ones with a warm lexicon, seen ones, and `pronouncing` on the same."""
    sonnets = ["\n".join(row["lines"]) for row in _rows(data / "shakespeare_sonnets.jsonl")]
    half = len(sonnets) // 2
    for way in (_count_plainly, lambda poem: _judged("ShakespeareanSonnet", poem)):
        _rate(way, sonnets[:half])  # both with their dictionaries loaded
    return {
        "pronouncing: syllables and rhyming parts": _rate(_count_plainly, sonnets[half:]),
        "whole judgement, poems new": _rate(lambda poem: _judged("ShakespeareanSonnet", poem), sonnets[half:]),
        "whole judgement, lines seen": _rate(lambda poem: _judged("ShakespeareanSonnet", poem), sonnets * 4),
        "whole judgement of any sonnet, lines seen": _rate(lambda poem: _judged("Sonnet", poem), sonnets * 4),
    }


SECTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {"human verse": human_verse, "tricks": tricks, "judge": speed}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", action="append", choices=list(SECTIONS), help="only these; may be repeated")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    asked = parser.parse_args()
    if not DATA.is_dir():
        parser.exit(0, f"no public verse in {DATA}: set LEARNABLE_DATA\n")
    figures = {name: SECTIONS[name](DATA) for name in asked.section or SECTIONS}
    for name, found in figures.items():
        print(name)
        for figure, value in found.items():
            print(f"  {figure:50s} {value:,.4g}" if isinstance(value, float) else f"  {figure:50s} {value}")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _judged(form: str, text: str, prompt: str = "") -> Score:
    return find_verifier("poetry").score(text, prompt=prompt, spec={"form": form})


def _rows(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _letters(scheme: Sequence[str]) -> str:
    """Return a scheme with its letters in order of appearance."""
    names: dict[str, str] = {}
    return "".join(names.setdefault(label, chr(ord("a") + len(names))) for label in scheme)


def _count_plainly(poem: str) -> None:
    for line in poem.splitlines():
        words = [word.strip(".,;:!?\"'()").lower() for word in line.split()]
        found = [pronouncing.phones_for_word(word) for word in words]
        sum(pronouncing.syllable_count(phones[0]) for phones in found if phones)
        if found and found[-1]:
            pronouncing.rhyming_part(found[-1][0])


def _rate(work: Callable[[str], object], poems: Iterable[str]) -> float:
    poems = list(poems)
    start = time.process_time()
    for poem in poems:
        work(poem)
    return len(poems) / max(1e-9, time.process_time() - start)


if __name__ == "__main__":
    main()
