"""A poem form: what its declaration says, read and checked.

Glossary. A *line count* is of verse lines; blank lines only part stanzas. The *unit* is what `repeat` repeats (one
stanza or more), or the whole poem where nothing repeats; it may have an *opening* before it and a *closing* after it.
A *scheme* gives each line of a part a label (see `labels`). A *component* is one thing the verifier judges.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from learnable.data.records import JsonObject
from learnable.verifiers.poetry.forms.counts import Count, span
from learnable.verifiers.poetry.forms.labels import Scheme

FORM_CHECKS = ("structure", "proxy", "theme")
Pairs = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class FormPart:
    """The lines of an opening, a unit or a closing. A per-line tuple of length one stands for every line."""

    lines: Count | None = None
    stanzas: tuple[int, ...] = ()
    schemes: tuple[Scheme, ...] = ()
    syllables: tuple[Count, ...] = ()
    words: tuple[Count, ...] = ()
    characters: tuple[Count, ...] = ()
    feet: tuple[int, ...] = ()

    def part_lines(self) -> int | None:
        """Return the lines of this part by its first scheme, or None where it leaves them open."""
        if self.lines is not None:
            return self.lines if isinstance(self.lines, int) else None
        longest = max(map(len, (self.syllables, self.words, self.characters, self.feet)))
        if longest > 1:
            return longest
        if self.stanzas:
            return sum(self.stanzas)
        return len(self.schemes[0]) if self.schemes else None


@dataclass(frozen=True, slots=True)
class Form(FormPart):
    """One form; `docs/reference/poem-keys.md` gives the meaning of each key.

    `schemes` lists the rhyme schemes that prompts name, `more_schemes` others that are accepted.
    `why` says why a `theme` form cannot be a reward, `declared` is the declaration as JSON, and `group` the file
    that it is from.
    """

    name: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    group: str = ""
    check: str = "structure"
    why: str = ""
    # Shape.
    repeat: Count | None = None
    repeat_default: int = 0
    opening: FormPart | None = None
    closing: FormPart | None = None
    tolerance: int = 0
    pass_tolerance: int = 0
    pass_syllables: tuple[Count, ...] = ()
    measures: tuple[tuple[Count, ...], ...] = ()
    shorter: tuple[str, ...] = ()
    stichic: bool = False
    even: int = 0
    # Rhymes and returns.
    more_schemes: tuple[Scheme, ...] = ()
    shared: str = ""
    carry: Pairs = ()
    may_carry: Pairs = ()
    loop: Pairs = ()
    rhyme: str = "full"
    rentrement: Count = (1, 5)
    repeats: tuple[str, ...] = ()
    varied: bool = False
    burden: bool = False
    same_end: tuple[str, ...] = ()
    end_words: tuple[str, ...] = ()
    envoi: int = 0
    radif: bool = False
    unrhymed: bool = False
    runs: Count | None = None
    links: tuple[str, ...] = ()
    # Sound.
    metre: str = ""
    template: tuple[str, ...] = ()
    alliteration: int = 0
    caesura: int = 0
    end_syllables: tuple[Count, ...] = ()
    endings: str = ""
    # Words and letters.
    letters: Pairs = ()
    total: Pairs = ()
    stanza_words: tuple[Count, ...] = ()
    budget: Pairs = ()
    without: str = ""
    vowel: str = ""
    contains: tuple[str, ...] = ()
    names: Pairs = ()
    starts: str = ""
    ends: str = ""
    same_start: int = 0
    word_lengths: Pairs | tuple[Count, ...] = ()
    word_syllables: Count | None = None
    palindrome: str = ""
    least_words: int = 0
    least_content: int = 0
    no_language: str = ""  # why a poem of this form need not read as sentences; it must where this is empty
    special: tuple[str, ...] = ()
    # Judgement.
    parameters: Pairs = ()
    defining: Pairs = ()
    requested: tuple[str, ...] = ()  # components that a prompt names, all where empty; `asked` in specs
    ask: str = ""
    declared: str = field(default="{}", repr=False)

    @property
    def line_count(self) -> int | None:
        """Lines the poem must have, or None where the form leaves it open."""
        if self.repeat is not None:
            return None
        if (lines := self.part_lines()) is not None or self.lines is not None:
            return lines
        for _, text in self.letters:
            return len(str(dict(self.parameters).get(text[1:], text)) if text.startswith("$") else text)
        return len(self.contains) or (None if self.envoi else len(self.end_words)) or None

    @property
    def is_reward(self) -> bool:
        """Whether a poem can be judged by this form at all."""
        return self.check != "theme"

    @property
    def counts_opening(self) -> bool:
        """Whether `stanzas` in a spec counts the opening too: it does where the opening is as long as the unit."""
        return self.opening is not None and self.opening.part_lines() == self.part_lines()

    def declaration(self) -> JsonObject:
        """Return the declaration as a table, for a spec that carries it."""
        table: dict[str, Any] = json.loads(self.declared)
        return table

    def threshold(self, component: str, otherwise: float) -> float:
        """Return the share of `component` that a pass needs, or `otherwise` where the form does not say."""
        return float(dict(self.defining).get(component, otherwise))

    def repeat_range(self) -> range:
        """Return how often the unit may stand; once for a form that repeats nothing."""
        low, high = span(self.repeat if self.repeat is not None else 1)
        return range(low, high + 1)
