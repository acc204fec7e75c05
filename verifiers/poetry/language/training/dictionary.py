"""Verse and prose that Webster's dictionary of 1913 quotes, and its own: all of it is in the public domain.

Debian packages it as `dict-gcide`. Its entries are blocks of lines, each with its source in brackets. A quotation is
set off deeper than the entry that it belongs to and ends on two hyphens and its author; what is quoted from verse
keeps its lines.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.poem import read_line

MIN_INDENT = 6  # blanks before each line of a quotation

Words = tuple[str, ...]

_BLANK = re.compile(r"\n[ \t]*\n")
_SOURCE = re.compile(r"\[(?:1913 Webster|PJC|WordNet [\d.]+|Webster 1913 Suppl\.|[A-Z]{2})\]")
_AUTHOR = re.compile(r"\s*--\s?([A-Z][^\[\]{}]*)\Z")
_ASIDE = re.compile(r"\\[^\\]*\\|\[[^\]]*\]|\([^)]*\)|--\s?[A-Z][\w. ]*")  # pronunciation, etymology, field, author
_STOP = re.compile(r"[.;:!?]|\bas, |``|''|\"")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*'?")


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What can be learned from: lines of verse by author, sentences that are quoted, and sentences that define."""

    verse: Mapping[str, Sequence[Words]]
    quoted: Sequence[Words]
    defining: Sequence[Words]


def read_dictionary(path: Path) -> Dictionary:
    """Return what the dictionary quotes and says. Raises `LearnableError` where it is not there."""
    if not path.is_file():
        raise LearnableError(
            f"no dictionary at {path}: install Debian's package dict-gcide, or name the file (--dictionary)"
        )
    verse: defaultdict[str, list[Words]] = defaultdict(list)
    quoted: list[Words] = []
    defining: list[Words] = []
    for block in _BLANK.split(gzip.decompress(path.read_bytes()).decode("latin-1")):
        if "[1913 Webster]" not in block:
            continue
        body = "\n".join(line for line in _SOURCE.sub("", block).splitlines() if line.strip())
        author = _AUTHOR.search(body)
        if author is None or not _is_set_off(body):
            defining += split_sentences(body)
        elif _is_verse(lines := [line.strip() for line in body[: author.start()].splitlines()]):
            verse[" ".join(author.group(1).split()).strip(" .")] += (read_line(line).words for line in lines)
        else:
            quoted += split_sentences(" ".join(lines))
    return Dictionary(verse, quoted, defining)


def _is_set_off(body: str) -> bool:
    """Return whether all lines stand as deep as those of a quotation, which names no other entry."""
    deep = all(len(line) - len(line.lstrip()) >= MIN_INDENT for line in body.splitlines())
    return deep and not set(body) & set("{}\\")


def _is_verse(lines: Sequence[str]) -> bool:
    # A line of verse has at most 62 characters: prose is broken at about as many.
    return len(lines) > 1 and all(line.lstrip("\"'`")[:1].isupper() and len(line) < 62 for line in lines)


def split_sentences(text: str) -> Iterator[Words]:
    """Yield the words of each sentence or clause of an entry that has enough, without what stands aside."""
    for part in _STOP.split(_ASIDE.sub(" . ", text.replace("{", "").replace("}", ""))):
        words = read_words(part)
        if len(words) >= 5:
            yield words


def read_words(text: str) -> Words:
    """Return the words of a text in lower case."""
    return tuple(_WORD.findall(text.lower()))
