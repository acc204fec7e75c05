"""Sensible lines of verse with an exact number of syllables, a given last word and, where it is asked for, a metre.

A line is a frame of syntax. It is filled from its last word backwards, as the classes of the words to the right and the
stresses that are wanted allow: a verb takes subjects and objects that it may have, an adjective fits its noun.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from learnable.train.policy.lexicon import (
    DETERMINED,
    PERSON,
    VerseLexicon,
    find_stress,
    load_lexicon,
)

# Frames that end on a noun (`E`). D: determiner, J: adjective, N: noun, V: verb with an object, I: verb without,
# R: adverb, P: preposition, C: conjunction, K: and, with the same subject, S: pronoun.
FRAMES = """
    DE DJE PDE PDJE SVDE SVDJE CSVDE DNVDE DNVDJE DJNVDE DJNVDJE SIPDE SIPDJE CSIPDE DNIPDE DNIPDJE DJNIPDE DJNIPDJE
    PDNSVDE PDNSVDJE PDNDNVDE PDJNSVDE PDNSIPDE PDJNDNVDE PDNIDE PDNIDJE PDJNIDE PDJNIDJE CDNIPDE CDNVDE CDJNVDE
    SIKVDE SIKVDJE DNIKVDE SVDNPDE SVDNPDJE DNVDNPDE SIPDNPDE CSIPDNPDE DNICSVDE SVDNKVDE CSVDNPDJE DJNVDNPDE
    DNIPDNPDE SVDNCSVDE DNPDNVDE DJNIRPDE DNIRPDE SIRPDE
    PDJNDJNVDJE PDNDJNIPDJE CDJNIPDNPDE DJNVDNCSVDE PDJNDNIPDJE DJNIPDJNPDE CDNVDNCSVDJE
""".split()
PART_OF = {
    "J": "adjective",
    "V": "transitive",
    "I": "intransitive",
    "P": "preposition",
    "R": "adverb",
    "C": "conjunction",
    "K": "joining",
    "S": "pronoun",
}
WEAK = frozenset("DSK")  # never where the metre is strong
# The stresses of a line from its end: `+` strong, `-` weak, `.` either.
IAMBIC_LINE, ANAPAESTIC_LINE, FREE_LINE = "+-", "+--", "."


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame and what belongs together in it, by place.

    `noun_of` has for each word the noun it goes with: that of a determiner, adjective or preposition, the object of a
    verb. `subject_of` has the subject of a verb; -1 where there is none.
    """

    tags: str
    noun_of: tuple[int, ...]
    subject_of: tuple[int, ...]


def write_line(rng: random.Random, count: int, end: str, topic: str | None = None, metre: str = FREE_LINE) -> str:
    """Return a line of `count` syllables (3 to 14) that ends on `end` and, where it fits, names the topic.

    Where no sensible line can be found the metre goes first, then the topic, then the sense.
    Raises `ValueError` for a count that no frame has.
    """
    ways = (
        [(topic, metre), (topic, FREE_LINE), (None, metre), (None, FREE_LINE)]
        if topic
        else [(None, metre), (None, FREE_LINE)]
    )
    frames = _find_frames(count)
    spare: list[str] | None = None
    for wanted, stresses in [*ways, *ways[-1:] * 9]:  # nine times as many tries before sense goes
        for _ in range(60):  # frames
            filling = _Filling(rng, rng.choice(frames), end, wanted, stresses)
            if words := filling.fill(count):
                if filling.is_sensible():
                    return _join(words)
                spare = words
    if spare:
        return _join(spare)
    raise ValueError(f"no line of {count} syllables ends on {end!r}")


def draw_ends(rng: random.Random, rhyme: int, count: int) -> list[str]:
    """Return `count` different last words of one rhyme class."""
    return rng.sample(load_lexicon().ends[rhyme], count)


@cache
def _find_frames(count: int) -> tuple[Frame, ...]:
    """Return the frames that may fill so many syllables, fuller words being rare."""
    fitting = [tags for tags in FRAMES if len(tags) <= count <= 1.8 * len(tags) + 1]
    return tuple(map(_read_frame, fitting or [tags for tags in FRAMES if len(tags) <= count]))


@cache
def _read_frame(tags: str) -> Frame:
    nouns = [place for place, tag in enumerate(tags) if tag in "NE"]
    noun_of, subject_of = [], []
    for place, tag in enumerate(tags):
        after = next((noun for noun in nouns if noun > place), -1)
        noun_of.append(after if tag in "DJPV" else -1)
        subject_of.append(_find_subject(tags, place, nouns) if tag in "VI" else -1)
    return Frame(tags, tuple(noun_of), tuple(subject_of))


def _find_subject(tags: str, place: int, nouns: Sequence[int]) -> int:
    """Return the place of the subject of what stands at `place`: the head of the clause before it, or what follows."""
    start = max((tags.rfind(sign, 0, place) for sign in "CK"), default=-1)
    if start >= 0 and tags[start] == "K":  # the same subject as of what stands before
        start = tags.rfind("C", 0, start)
    heads = [at for at in range(start + 1, place) if (tags[at] == "S" or at in nouns) and _is_head(tags, at, start)]
    return heads[0] if heads else next((noun for noun in nouns if noun > place), -1)


def _is_head(tags: str, at: int, start: int) -> bool:
    """Whether the noun or pronoun at `at` stands free: after no preposition and after no verb."""
    phrase = tags[start + 1 : at].rstrip("J").removesuffix("D").rstrip("J") if tags[at] != "S" else tags[start + 1 : at]
    return not phrase.endswith(("P", "V"))


@dataclass(slots=True)
class _Filling:
    """One attempt to fill a frame from its end."""

    rng: random.Random
    frame: Frame
    end: str
    topic: str | None
    metre: str
    words: list[str] = field(default_factory=list)
    end_class: str = PERSON
    subjects: dict[int, frozenset[str]] = field(default_factory=dict)  # what may stand at a place, of what is filled

    def fill(self, count: int) -> list[str] | None:
        """Return the words, or None where this attempt came to a place that nothing fits."""
        tags, words = self.frame.tags, self.words
        words[:] = [""] * len(tags)
        self.end_class = self.rng.choice(sorted(load_lexicon().nouns))
        topic_at = self._place_topic()
        if self.topic and topic_at is None:
            return None
        left = count
        for place in reversed(range(len(tags))):
            fixed = self.end if place == len(tags) - 1 else self.topic if place == topic_at else None
            word = self._choose(place, count - left, left - place, fixed)
            if word is None:
                return None
            words[place] = word
            left -= len(find_stress(word))
            self._restrict(place)
        return words if left == 0 else None

    def _place_topic(self) -> int | None:
        places = [place for place, tag in enumerate(self.frame.tags) if tag == "N"]
        return self.rng.choice(places) if self.topic and places else None

    def _choose(self, place: int, done: int, room: int, fixed: str | None) -> str | None:
        """Return a word for a place that fits the metre and leaves a syllable for each place before it."""
        tag = self.frame.tags[place]
        choices = (fixed,) if fixed else self._list_choices(place)
        for _ in range(min(len(choices), 1 if fixed else 12)):  # words
            word = self.rng.choice(choices)
            size = len(find_stress(word))
            has_room = size <= room if place else size == room
            is_taken = tag in "NJVI" and word in self.words
            if has_room and (fixed or not is_taken) and _fits(word, tag, done, self.metre):
                return word
        return None

    def _list_choices(self, place: int) -> Sequence[str]:
        tag, lexicon = self.frame.tags[place], load_lexicon()
        name = self._class_at(self.frame.noun_of[place])
        if tag == "D":
            return lexicon.free[DETERMINED.get(name, "natural")]
        if tag in "JP":
            return lexicon.fitting[PART_OF[tag], name]
        if tag == "V":
            return lexicon.doing[name]
        if tag == "I":
            return _list_verbs(lexicon, self.subjects.get(self.frame.subject_of[place]))
        if tag == "N":
            return lexicon.nouns[self.rng.choice(sorted(self.subjects.get(place) or lexicon.nouns))]
        return lexicon.free[PART_OF[tag]]

    def _class_at(self, place: int) -> str:
        """Return the class of the noun at a place, that of a person for a pronoun or for none.

        The last word passes for one of any class: the words before it would give it away, and which of a class of
        rhymes may follow them is more than a small model learns.
        """
        if place == len(self.words) - 1:
            return self.end_class
        return load_lexicon().classes.get(self.words[place], PERSON) if place >= 0 else PERSON

    def _restrict(self, place: int) -> None:
        """Note what the subject of the word at this place may be."""
        tag, subject = self.frame.tags[place], self.frame.subject_of[place]
        if subject >= 0:
            thing = self._class_at(self.frame.noun_of[place]) if tag == "V" else ""
            fitting = load_lexicon().find_subjects(PART_OF[tag], self.words[place], thing)
            self.subjects[subject] = self.subjects.get(subject, fitting) & fitting

    def is_sensible(self) -> bool:
        """Whether every subject is one that its verbs may have."""
        tags = self.frame.tags
        return all(
            (PERSON if tags[place] == "S" else self._class_at(place)) in allowed
            for place, allowed in self.subjects.items()
        )


@cache
def _list_verbs(lexicon: VerseLexicon, subjects: frozenset[str] | None) -> tuple[str, ...]:
    """Return the verbs without an object that one of these subjects may have."""
    return tuple(word for word, uses in lexicon.intransitive.items() if subjects is None or subjects & uses.keys())


def _fits(word: str, tag: str, done: int, metre: str) -> bool:
    """Whether a word's stresses fit the metre where `done` syllables follow it."""
    stresses = find_stress(word)
    if len(stresses) == 1:
        wanted = metre[done % len(metre)]
        is_either = tag in "PC"  # of one syllable: weak or strong
        if wanted == "." or is_either or (metre == ANAPAESTIC_LINE and tag not in WEAK):
            return True
        return wanted == ("-" if tag in WEAK else "+")
    return all(
        "." in (mark, metre[(done + behind) % len(metre)]) or mark == metre[(done + behind) % len(metre)]
        for behind, mark in enumerate(reversed(stresses))
    )


def _join(words: list[str]) -> str:
    for place, following in enumerate(words[1:]):
        if words[place] == "a" and following[0] in "aeiou":
            words[place] = "an"
    line = " ".join(words)
    return line[0].upper() + line[1:]
