"""What is learned from WordNet and the Bible as packages have them: sentences in their order."""

from __future__ import annotations

import gzip
from argparse import ArgumentParser
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.training.packaged import (
    add_text_options,
    read_glosses,
    read_packaged,
    read_verses,
)

GLOSSES = """\
ferryman
    n 1: a man who takes people across the river in a boat (usually
         for money); "the ferryman would not wait for us" [syn:
         {ferryman}, {boatman}]
    2: a lamp
boatman
    n 1: a man who takes people across the river in a boat (usually
         for money); "the ferryman would not wait for us" [syn:
         {ferryman}, {boatman}]
"""
VERSES = """
Genesis 1

  1 In the beginning God created the heaven and the earth.
  2 And the earth was without form, and void.

Exodus 1

  1 These are the names.
"""


def test_glosses_and_examples_are_read_once_without_synonyms(tmp_path: Path) -> None:
    path = tmp_path / "wn.dict.dz"
    path.write_bytes(gzip.compress(GLOSSES.encode()))
    assert [*read_glosses(path)] == [
        tuple("a man who takes people across the river in a boat".split()),
        tuple("the ferryman would not wait for us".split()),
    ]


def test_verses_are_read_whole_without_headings(tmp_path: Path) -> None:
    path = tmp_path / "bible.txt"
    path.write_text(VERSES)
    assert [*map(" ".join, read_verses(path))] == [
        "in the beginning god created the heaven and the earth",
        "and the earth was without form and void",
        "these are the names",
    ]


@pytest.mark.parametrize(
    ("missing", "package"), [("dictionary", "dict-gcide"), ("wordnet", "dict-wn"), ("bible", "bible-kjv")]
)
def test_a_text_that_is_missing_says_where_to_get_it(missing: str, package: str, tmp_path: Path) -> None:
    parser = ArgumentParser()
    add_text_options(parser)
    there = tmp_path / "there"
    there.write_bytes(gzip.compress(b""))
    options = parser.parse_args([f"--dictionary={there}", f"--wordnet={there}", f"--bible={there}"])
    assert read_packaged(options).glosses == []
    setattr(options, missing, tmp_path / "nowhere")
    with pytest.raises(LearnableError, match=rf"{package}.*--{missing}"):
        read_packaged(options)
