"""Does human verse keep its metre, and do prose and verse in another metre not?

A row gives the share of texts whose metre passes, the share that passes everything, and the mean reward. The verse is
halved by author (Shakespeare's sonnets, Lear's limericks and the docstrings by turns). What a poem needs is the cost
that 96 of 100 human poems of half 0 do not exceed; half 1 is the check. Blank verse is the annotated one, in runs of
fourteen lines and rests of seven or more; prose is cut where it comes to ten syllables.

    python -m benchmarks.poetry.metre [--runs 200] [--seed 1616] [--json FILE]
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.figures import make_parser, write_figures
from benchmarks.poetry.data import STANZAS, rows, stanzas, write_scheme
from benchmarks.poetry.language import PROSE, cut_prose
from benchmarks.poetry.run import DATA
from learnable.verifiers.poetry.language.training.corpus import assign_halves, read_verse
from learnable.verifiers.poetry.language.training.prose import read_docstrings
from learnable.verifiers.poetry.verifier import examine

RUN = 14  # lines
PENTAMETER = "-+-+-+-+-+"
# Lines that are no iambic pentameter, judged as blank verse: annotated verse in these metres.
OTHERS = ("trochaic", "anapestic", "dactylic")


class Text(NamedTuple):
    """What it is, the form it is judged by, its half, and its lines."""

    kind: str
    form: str
    half: int
    lines: Sequence[str]


def read_human(data: Path) -> Iterator[Text]:
    """Yield human poems in the metre of their form."""
    halves = assign_halves(read_verse(data))
    for name, form in (("shakespeare_sonnets", "ShakespeareanSonnet"), ("limericks", "Limerick")):
        for index, row in enumerate(rows(data / f"{name}.jsonl")):
            yield Text("human", form, index % 2, row["lines"])
    named = {scheme: form for form, scheme in STANZAS.items()}
    for stanza in stanzas(data):
        if stanza_form := named.get(write_scheme(stanza.scheme)):
            yield Text("human", stanza_form, halves[stanza.period], stanza.lines)
    for index, lines in enumerate(read_blank_verse(data)):
        yield Text("human", "BlankVerse", index % 2, lines)


def read_blank_verse(data: Path) -> Iterator[list[str]]:
    """Yield annotated unrhymed pentameter in runs of fourteen lines, or as many as there are, if seven or more."""
    for row in rows(data / "scansion_4b4v.jsonl"):
        lines = [line for stanza in row["stanzas"] for line in stanza["lines"]]
        fits = sum((line["met"] or "").startswith(PENTAMETER) for line in lines)
        if not row["stanzas"][0]["rhyme"] and fits > 0.8 * len(lines):
            yield from cut([line["text"] for line in lines])


def read_others(data: Path) -> Iterator[Text]:
    """Yield what is no iambic pentameter, as blank verse: annotated verse in other metres, by its line."""
    by_metre = defaultdict(list)
    for row in rows(data / "scansion_litlab.jsonl"):
        by_metre[row["meter"]].append(row["line"])
    for metre in OTHERS:
        for index, lines in enumerate(cut(by_metre[metre])):
            yield Text(metre, "BlankVerse", index % 2, lines)


def cut(lines: list[str]) -> Iterator[list[str]]:
    """Yield runs of fourteen lines; of the rest a shorter one, if it has seven or more."""
    for start in range(0, len(lines), RUN):
        if len(run := lines[start : start + RUN]) >= RUN // 2:
            yield run


def read_all(data: Path, runs: int, seed: int) -> Iterator[Text]:
    """Yield everything that is judged."""
    yield from read_human(data)
    yield from read_others(data)
    for index, lines in enumerate(cut_prose(read_docstrings(random.Random(seed), PROSE), runs)):
        yield Text("prose", "BlankVerse", index % 2, lines)


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs of prose (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1616, help="seed of the prose (default: %(default)s)")
    options = parser.parse_args()
    if not DATA.is_dir():
        parser.exit(0, f"no public verse in {DATA}: set LEARNABLE_DATA\n")
    found = defaultdict(list)
    for text in read_all(DATA, options.runs, options.seed):
        if examined := examine("\n".join(text.lines), "", {"form": text.form}):
            found[f"{text.kind} as {text.form}, half {text.half}"].append(examined)
    figures = {
        name: {
            "texts": float(len(every)),
            "metre": fmean(one.judgement.strict["metre"] >= 0.5 for one in every),
            "all": fmean(not one.failures for one in every),
            "reward": fmean(one.reward for one in every),
        }
        for name, every in sorted(found.items())
    }
    print(f"{'':44} {'texts':>6} {'metre':>6} {'all':>6} {'reward':>6}")
    for name, row in figures.items():
        print(f"{name:44} {row['texts']:6.0f} {row['metre']:6.3f} {row['all']:6.3f} {row['reward']:6.3f}")
    write_figures(options.json, figures)


if __name__ == "__main__":
    main()
