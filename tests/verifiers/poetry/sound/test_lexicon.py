"""The lexicon is built from a dictionary, kept in a file, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.verifiers.poetry.sound import lexicon as module
from learnable.verifiers.poetry.sound.lexicon import (
    PronouncingLexicon,
    build_lexicon,
    find_lexicon_file,
    load_lexicon,
    pack_lexicon,
    read_lexicon,
)
from learnable.verifiers.poetry.sound.unknown_words import guess_by_ending

ENTRIES = {
    "moon": ["M UW1 N"],
    "noon": ["N UW1 N"],
    "spoon": ["S P UW1 N"],
    "stone": ["S T OW1 N"],
    "alone": ["AH0 L OW1 N"],
    "table": ["T EY1 B AH0 L"],
    "able": ["EY1 B AH0 L"],
    "every": ["EH1 V ER0 IY0", "EH1 V R IY0"],
    "o'clock": ["AH0 K L AA1 K"],
}


@pytest.fixture
def small_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "read_dictionary", lambda: ENTRIES)
    return tmp_path / "cache"


def load() -> PronouncingLexicon:
    return load_lexicon.__wrapped__()


def test_a_file_gives_back_what_was_built(tmp_path: Path) -> None:
    built = build_lexicon(ENTRIES)
    path = tmp_path / "lexicon"
    path.write_bytes(pack_lexicon(built))
    found = read_lexicon(path)
    assert found == built
    assert found is not None
    assert found.pronunciations("every") == (("EH1", "V", "ER0", "IY0"), ("EH1", "V", "R", "IY0"))
    assert found.pronunciations("nowhere") == ()
    assert guess_by_ending(found.rimes, "lagoon") == ("UW", "N")
    assert found.shares
    assert found.main_stresses[""] in (1, 2)


def test_every_build_makes_the_same_file() -> None:
    assert pack_lexicon(build_lexicon(ENTRIES)) == pack_lexicon(build_lexicon(dict(reversed(ENTRIES.items()))))


def test_the_second_process_reads_what_the_first_built(small_dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load()
    assert [path.name for path in (small_dictionary / "learnable").iterdir()] == [find_lexicon_file().name]
    monkeypatch.setattr(module, "read_dictionary", lambda: pytest.fail("built again"))
    assert load() == first


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json\nmoon", b"\xff\xfe\n\x00"])
def test_a_damaged_file_is_built_anew(small_dictionary: Path, damage: bytes) -> None:
    whole = load()
    find_lexicon_file().write_bytes(damage)
    assert load() == whole
    assert read_lexicon(find_lexicon_file()) == whole


def test_a_changed_byte_is_noticed(small_dictionary: Path) -> None:
    load()
    data = bytearray(find_lexicon_file().read_bytes())
    data[-3] ^= 1
    find_lexicon_file().write_bytes(data)
    assert read_lexicon(find_lexicon_file()) is None


def test_where_nothing_can_be_written_it_is_built_in_memory(small_dictionary: Path) -> None:
    small_dictionary.parent.mkdir(exist_ok=True)
    small_dictionary.write_text("a file where the folder should be")
    assert load().pronunciations("moon") == (("M", "UW1", "N"),)


def test_the_command_says_where_it_is(small_dictionary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_lexicon.cache_clear()
    try:
        module.main()
    finally:
        load_lexicon.cache_clear()
    assert capsys.readouterr().out == f"9 words in {find_lexicon_file()}\n"
