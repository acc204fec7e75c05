"""What is learned from a dictionary: lines of verse by author, and sentences that are quoted or define."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.training.corpus import Verse, pick_half, read_quoted_verse
from learnable.verifiers.poetry.language.training.dictionary import read_dictionary

ENTRIES = """\
Ferryman \\Fer"ry*man\\, n.; pl. {Ferrymen}.
   One who keeps a boat and takes others across a river; (Naut.) a boatman. [Obs.]
   [1913 Webster]

         The ferryman leans on his oar,
         And hears no call from either shore.  --A. Poet.
   [1913 Webster]

         He paid the old ferryman with a silver coin; then he was gone.
                                               --Some Author.
   [1913 Webster]

   Somebody who was added in a later edition of this work.
   [PJC]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "small.dict.dz"
    found.write_bytes(gzip.compress(ENTRIES.encode("latin-1")))
    return found


def test_verse_keeps_its_lines_and_its_author(path: Path) -> None:
    assert read_dictionary(path).verse == {
        "A. Poet": [
            ("the", "ferryman", "leans", "on", "his", "oar"),
            ("and", "hears", "no", "call", "from", "either", "shore"),
        ]
    }


def test_prose_is_parted_into_sentences_without_what_stands_aside(path: Path) -> None:
    found = read_dictionary(path)
    assert found.quoted == [("he", "paid", "the", "old", "ferryman", "with", "a", "silver", "coin")]
    assert found.defining == [tuple("one who keeps a boat and takes others across a river".split())]


def test_no_dictionary_is_an_error_that_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="dict-gcide"):
        read_dictionary(tmp_path / "nowhere")


def test_a_half_has_no_quotation_of_the_other_halfs_authors(path: Path) -> None:
    line = ("the", "boats", "come", "home")
    verse = [Verse("poet", (line,) * 3), Verse("other", (line,) * 2)]
    quoted = [*read_quoted_verse(read_dictionary(path)), Verse("quoted Some One", (line,))]
    with_poet, without = (pick_half(verse, quoted, half) for half in (0, 1))
    assert [poem.author for poem in with_poet] == ["poet", "quoted A. Poet", "quoted Some One"]
    assert [poem.author for poem in without] == ["other", "quoted Some One"]
