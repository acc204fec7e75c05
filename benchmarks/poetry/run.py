"""How well are verse's syllables, stresses and rhymes heard, next to `pronouncing`, and how fast?

Reads public annotated verse from the folder in `LEARNABLE_DATA` (default `../shared/data`). Each section is a function
that returns figures by name; one that is added to `SECTIONS` is printed with the others.

    python -m benchmarks.poetry.run [--section syllables ...] [--json FILE]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import make_parser, write_figures
from benchmarks.poetry import rhyme as poetry_rhyme
from benchmarks.poetry import sound as poetry_sound
from benchmarks.poetry import speed as poetry_speed

DATA = Path(os.environ.get("LEARNABLE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "poetry"

Section = Callable[[Path], dict[str, Any]]

SECTIONS: dict[str, Section] = {
    "syllables": poetry_sound.syllables,
    "scansion": poetry_sound.scansion,
    "unknown words": poetry_sound.unknown_words,
    "rhyme schemes": poetry_rhyme.schemes,
    "walker": poetry_rhyme.walker,
    "speed": poetry_speed.speed,
}


def main() -> None:
    """Measure and report."""
    report_sections(__doc__ or "", SECTIONS)


def report_sections(description: str, sections: Mapping[str, Section]) -> None:
    """Run the sections that the command line names, print their figures and, with `--json`, write them to a file."""
    parser = make_parser(description)
    parser.add_argument("--section", action="append", choices=list(sections), help="only these; may be repeated")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        parser.exit(0, f"no public verse in {DATA}: set LEARNABLE_DATA\n")
    figures: dict[str, dict[str, Any]] = {}
    for name in arguments.section or sections:
        figures[name] = sections[name](DATA)
        print(name)
        for figure, value in figures[name].items():
            print(f"  {figure:58s} {value:,.4g}" if isinstance(value, float) else f"  {figure:58s} {value}")
    write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
