"""A form laid out for a poem of a certain length: what each of its lines must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from itertools import count as counter
from typing import Any

from learnable.verifiers.poetry.forms.coordinates import equal_lines
from learnable.verifiers.poetry.forms.counts import Count, span
from learnable.verifiers.poetry.forms.form import Form, FormPart
from learnable.verifiers.poetry.forms.labels import UNRHYMED, Scheme, is_refrain, is_rentrement, rhyme_class

NO_RHYME = -1


@dataclass(frozen=True, slots=True)
class FormPlan:
    """One way to fill a form. Per-line tuples are as long as the poem; None (or `NO_RHYME`) means anything goes.

    `classes` numbers rhyme classes, `groups` are sets of lines that are one and the same line, `rentrements` the lines
    made of the opening words of the first. The last five follow from those: pairs of lines that are the same line
    (`grouped`), pairs whose end words may be the same (`excused`), how many pairs should rhyme (`wanted`), the lines
    that each line should rhyme with (`mates`), and its stanza (`stanza_of`).
    """

    stanzas: tuple[int, ...]
    classes: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    rentrements: tuple[int, ...] = ()
    syllables: tuple[Count | None, ...] = ()
    words: tuple[Count | None, ...] = ()
    characters: tuple[Count | None, ...] = ()
    feet: tuple[int | None, ...] = ()
    grouped: frozenset[tuple[int, int]] = frozenset()
    excused: frozenset[tuple[int, int]] = frozenset()
    wanted: int = 0
    mates: tuple[tuple[int, ...], ...] = ()
    stanza_of: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Lines of the poem."""
        return len(self.classes)

    @property
    def returns(self) -> int:
        """Lines that repeat an earlier one on purpose."""
        return sum(len(group) - 1 for group in self.groups)


@lru_cache(maxsize=4096)
def measured_plans(form: Form, lines: int) -> tuple[tuple[FormPlan, ...], ...]:
    """Return `plans`, each with its like in every other measure of the form (`measures`), the form's first in front.

    Another measure has its own number of feet, which follows from its syllables.
    """
    others = [replace(form, syllables=measure, feet=(), measures=()) for measure in form.measures]
    return tuple(zip(plans(form, lines), *(plans(other, lines) for other in others), strict=True))


@lru_cache(maxsize=4096)
def plans(form: Form, lines: int) -> tuple[FormPlan, ...]:
    """Return every way to fill `form` with about `lines` lines: the nearest number of units, each accepted scheme."""
    every = list(dict.fromkeys(_plans(form, lines)))
    nearest = min((abs(plan.size - lines) for plan in every), default=0)
    return tuple(plan for plan in every if abs(plan.size - lines) == nearest)[:24]


def _plans(form: Form, lines: int) -> Iterator[FormPlan]:
    parts = _parts(form)
    for units in _unit_counts(form, lines):
        for schemes in product(*map(_schemes, parts)):
            layout = _Layout(form, units, lines)
            for part, scheme, times in zip(parts, schemes, (1, units, 1), strict=True):
                layout.add(part, scheme, times)
            yield from layout.all_plans()
    if form.may_carry:
        yield from _plans(replace(form, carry=form.may_carry, may_carry=()), lines)


def _parts(form: Form) -> tuple[FormPart | None, FormPart | None, FormPart | None]:
    return form.opening, form, form.closing


def _schemes(part: FormPart | None) -> Sequence[Scheme]:
    return part.schemes or [()] if part is not None else [()]


def _unit_counts(form: Form, lines: int) -> list[int]:
    """Return the numbers of units that come nearest to `lines`: one, or the two on either side."""
    allowed = form.repeat_range()
    size = form.part_lines() or 1
    around = sum(part.part_lines() or 1 for part in (form.opening, form.closing) if part is not None)
    least = (lines - around) // size
    return sorted({min(max(units, allowed.start), allowed.stop - 1) for units in (least, least + 1)})


class _Layout:
    """Lines put one under another."""

    def __init__(self, form: Form, units: int, lines: int) -> None:
        self.form, self.units, self.lines = form, units, lines
        self.labels: list[str] = []
        self.classes: list[int] = []
        self.stanzas: list[int] = []
        self.sizes: dict[str, list[Count | None]] = {"syllables": [], "words": [], "characters": [], "feet": []}
        self.fresh = counter()
        self.shared: dict[str, int] = {}
        self.before: dict[str, int] = {}  # the classes of the part before
        self.first: dict[str, int] = {}  # the classes of the first unit

    def add(self, part: FormPart | None, scheme: Scheme, times: int) -> None:
        """Add a part so many times."""
        if part is None:
            return
        size = self._size(part, scheme)
        for number in range(times):
            self._add_rhymes(scheme or (UNRHYMED,) * size, part is self.form and number == times - 1)
            self.stanzas += part.stanzas if sum(part.stanzas) == size else (size,)
            for name, column in self.sizes.items():
                values = getattr(part, name)
                column += (values * size)[:size] if values else [None] * size
            if part is self.form and number == 0:
                self.first = self.before

    def _size(self, part: FormPart, scheme: Scheme) -> int:
        if scheme:
            return len(scheme)
        if part is not self.form:
            return part.part_lines() or 1
        if self.form.repeat is None and (lines := self.form.line_count) is not None:
            return lines
        if self.form.lines is not None or self.form.repeat is None:
            low, high = span(self.form.lines or (1, max(1, self.lines)))
            return min(max(self.lines // self.units, low), high)
        return part.part_lines() or 1

    def _add_rhymes(self, scheme: Scheme, is_last: bool) -> None:
        carried = {new: self._carried(old) for new, old in self.form.carry}
        looped = {new: self.first.get(old) for new, old in self.form.loop} if is_last and self.first else {}
        classes: dict[str, int] = {}
        for label in scheme:
            letter = rhyme_class(label)
            if letter != UNRHYMED and letter not in classes:
                # A class that returns is the first's, one carried over the last's, another a new one.
                known = looped.get(letter)
                known = carried.get(letter) if known is None else known
                classes[letter] = self._shared(letter, label) if known is None else known
            self.labels.append(label)
            self.classes.append(classes.get(letter, NO_RHYME))
        self.before = classes

    def _carried(self, old: str) -> int | None:
        return (self.classes[-1] if self.classes else None) if old == "last" else self.before.get(old)

    def _shared(self, letter: str, label: str) -> int:
        if letter in self.form.shared or letter in _refrain_classes(self.form) or is_refrain(label):
            return self.shared.setdefault(letter, next(self.fresh))
        return next(self.fresh)

    def all_plans(self) -> Iterator[FormPlan]:
        """Yield a plan for each choice among the equalities that offer several."""
        for choice in range(2 ** sum(" or " in rule for rule in self.form.repeats)):
            yield self.plan(choice)

    def plan(self, choice: int) -> FormPlan:
        """Return the plan of the lines added; `choice` picks among the equalities that offer several."""
        groups: dict[str, list[int]] = {}
        for index, label in enumerate(self.labels):
            if is_refrain(label):
                groups.setdefault(label, []).append(index)
        pairs = [(group[0], index) for group in groups.values() for index in group[1:]]
        merged = _merge([*pairs, *equal_lines(self.form.repeats, self.stanzas, choice)])
        # A rentrement returns from line 1; where none is long enough to be one, it is simply a line.
        rentrements = tuple(index for index, label in enumerate(self.labels) if index and is_rentrement(label))
        columns: dict[str, Any] = {name: tuple(column) if any(column) else () for name, column in self.sizes.items()}
        plan = FormPlan(tuple(self.stanzas), _unify(self.classes, merged), merged, rentrements, **columns)
        return replace(plan, **_facts(plan, self.form))


def _facts(plan: FormPlan, form: Form) -> dict[str, Any]:
    grouped = frozenset(pair for group in plan.groups for pair in combinations(group, 2))
    lines: dict[int, list[int]] = {}
    for index, name in enumerate(plan.classes):
        lines.setdefault(name, []).append(index)
    lines.pop(NO_RHYME, None)
    return {
        "mates": tuple(
            tuple(other for other in lines.get(name, ()) if other != index) for index, name in enumerate(plan.classes)
        ),
        "grouped": grouped,
        "excused": frozenset((min(pair), max(pair)) for pair in equal_lines(form.same_end, plan.stanzas)),
        "wanted": sum(len(same) * (len(same) - 1) // 2 for same in lines.values())
        - sum(plan.classes[i] != NO_RHYME for i, _ in grouped),
        "stanza_of": tuple(number for number, size in enumerate(plan.stanzas) for _ in range(size)),
    }


@lru_cache(maxsize=1024)
def _refrain_classes(form: Form) -> frozenset[str]:
    schemes = [scheme for part in _parts(form) if part is not None for scheme in part.schemes]
    return frozenset(rhyme_class(label) for scheme in schemes for label in scheme if is_refrain(label))


def _merge(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the sets of lines that equal pairs join, each in order."""
    of: dict[int, set[int]] = {}
    for i, j in pairs:
        joined = of.get(i, {i}) | of.get(j, {j})
        for index in joined:
            of[index] = joined
    return tuple(sorted({tuple(sorted(group)) for group in of.values()}))


def _unify(classes: Sequence[int], groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the classes where lines that are equal are of one class."""
    renamed = list(classes)
    for group in groups:
        names = {renamed[index] for index in group} - {NO_RHYME}
        if names:
            keep = min(names)
            renamed = [keep if name in names else name for name in renamed]
            for index in group:
                renamed[index] = keep
    return tuple(renamed)
