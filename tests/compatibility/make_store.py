"""Makes the small store of a format that `test_formats.py` reads.

    python -m tests.compatibility.make_store tests/compatibility/format-1.tar.gz

Run it once for each new number of `learnable.data.storage.format.STORE_FORMAT`: the store of a released format is
never made again. It is a curation of 16 questions by a policy that answers each with a chance of its own, and no model.
Folders in the manifest are written as `FOLDER`.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np

from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

TEXTS = [f"{family} {number}" for number in range(8) for family in ("sums", "words")]
RATES = dict(zip(TEXTS, np.linspace(0, 1, len(TEXTS)).tolist(), strict=True))
FOLDER = "FOLDER"


def make_store(folder: Path) -> CurationReport:
    """Curate into `folder/store`, with the policy in `folder/old`."""
    make_policy(folder, "old")
    with chdir(folder):
        report, _ = curate()
    return report


def curate() -> tuple[CurationReport, RatedEngine]:
    """Curate in the working folder, and return the report and the engine, which has what it was asked for."""
    settings: CurateSettings = replace(ask_rated(Path(), TEXTS, "old"), store="store")
    engine = RatedEngine("old", RATES)
    with use_engine(engine, settings):
        return run_curation(settings), engine


def replace_folder(folder: Path, old: str, new: str) -> None:
    """Write another folder into the manifests of a store's sets."""
    for path in folder.glob("store/curated/*/*/manifest.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def pack(folder: Path, archive: Path) -> None:
    """Put a folder into an archive that says nothing of the machine."""
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name, filter=lambda info: info.replace(uid=0, gid=0, uname="", gname="", deep=False))


def main() -> None:
    """Make the archive that the command line names."""
    parser = argparse.ArgumentParser(description="Make the small store of a format.")
    parser.add_argument("archive", type=Path)
    archive = parser.parse_args().archive
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_store(folder)
        replace_folder(folder, name, FOLDER)
        pack(folder, archive)


if __name__ == "__main__":
    main()
