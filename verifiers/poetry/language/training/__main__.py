"""Make the language model again: `python -m learnable.verifiers.poetry.language.training`."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.storage.places import replace_file
from learnable.verifiers.poetry.language.model import pack_model
from learnable.verifiers.poetry.language.training.corpus import (
    Verse,
    pick_half,
    read_own_verse,
    read_quoted_verse,
    read_verse,
)
from learnable.verifiers.poetry.language.training.learning import NONSENSE_WEIGHT, SEED, learn_model
from learnable.verifiers.poetry.language.training.packaged import add_text_options, read_packaged
from learnable.verifiers.poetry.language.training.prose import read_prose, read_sentences


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn from all the public verse, or from one half of its authors, and write the model."""
    options = read_options(arguments)
    packaged = read_packaged(options)
    verse: list[Verse] = [*read_verse(options.data / "poetry"), *read_own_verse()]
    quoted = [*read_quoted_verse(packaged.dictionary)]
    verse = verse + quoted if options.half is None else pick_half(verse, quoted, options.half)
    prose = read_prose(packaged.dictionary, random.Random(options.seed))
    text = pack_model(learn_model(verse, prose, read_sentences(packaged), options.seed, options.nonsense))
    replace_file(options.output, lambda partial: partial.write_text(text, encoding="utf-8"))
    sys.stdout.write(f"{options.output}: {len(text):,} bytes, from {len(verse):,} stanzas and {len(prose):,} pieces\n")


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m learnable.verifiers.poetry.language.training", description=__doc__)
    bundled = resources.files("learnable.verifiers.poetry.language").joinpath("model.json")
    data = os.environ.get("LEARNABLE_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of public data (default: %(default)s)")
    add_text_options(parser)
    parser.add_argument("--output", type=Path, default=Path(str(bundled)), help="file to write (default: the bundled)")
    parser.add_argument("--half", type=int, choices=(0, 1), help="learn from one half of the authors only")
    parser.add_argument(
        "--nonsense",
        type=float,
        default=NONSENSE_WEIGHT,
        help="weight of grammatical nonsense as salad (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help="seed of spoilt lines and clusters (default: %(default)s)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        main()
    except LearnableError as error:
        sys.exit(f"error: {error}")
