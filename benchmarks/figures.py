"""What the benchmarks share: a command line with `--json FILE`, and the file that it names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows `description` as it is written, and takes `--json FILE`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    return parser


def write_figures(path: Path | None, figures: Mapping[str, object]) -> None:
    """Write the figures as one JSON object, where `--json` named a file."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
