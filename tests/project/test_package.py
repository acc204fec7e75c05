"""What is installed: every file of the rooms goes into a wheel, but for what a part was learned with."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch

from setuptools import find_packages

from tests.support.domains import needs_poems
from tests.support.paths import ROOT

ROOMS = ("data", "rollouts", "verifiers", "filters", "train", "viewing", "flows", "src/learnable")
BUILT_FROM = "viewing/page/"  # what `viewing/page.html` is built from
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_file_of_the_rooms_is_packed() -> None:
    packed = ["*.py", *PROJECT["tool"]["setuptools"]["package-data"]["*"]]
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_file()]
    ours = [file.relative_to(ROOT).as_posix() for file in files if "__pycache__" not in file.parts]
    ours = [file for file in ours if not file.startswith(BUILT_FROM)]
    left_out = [file for file in ours if not any(fnmatch(file.rpartition("/")[2], pattern) for pattern in packed)]
    assert len(ours) > 300
    assert left_out == []


@needs_poems
def test_what_the_model_of_language_is_learned_with_is_not_installed() -> None:
    found = PROJECT["tool"]["setuptools"]["packages"]["find"]
    packed = find_packages(str(ROOT / found["where"][0]), exclude=found["exclude"])
    every = find_packages(str(ROOT / found["where"][0]))
    left_out = "learnable.verifiers.poetry.language.training"
    assert set(every) - set(packed) == {left_out}
    folder = ROOT / "verifiers/poetry/language/training"
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py") if folder not in file.parents]
    assert not [file for file in files if f"{left_out}." in file.read_text(encoding="utf-8")]


def test_every_room_is_a_folder_of_the_package() -> None:
    rooms = {room: (ROOT / "src" / "learnable" / room).resolve() for room in ROOMS[:-1]}
    assert rooms == {room: ROOT / room for room in ROOMS[:-1]}
