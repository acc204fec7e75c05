"""Which settings of a generator's knobs to try: a grid of one or several knobs, each with values in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

from learnable.data.errors import LearnableError

if TYPE_CHECKING:
    from learnable.data.sources.family import Family

MAX_KNOB_VALUES = 12  # that a range is thinned to
MAX_SETTINGS = 256
MIN_GEOMETRIC_RATIO = 10.0  # ratio of its ends from which on a range is divided in equal ratios


@dataclass(frozen=True, slots=True)
class KnobAxis:
    """A knob and its values, as users type them, in an order in which prompts get harder or easier."""

    knob: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnobGrid:
    """Every combination of the axes' values. Raises `LearnableError` where there are none, one, or too many."""

    axes: tuple[KnobAxis, ...]

    def __post_init__(self) -> None:
        size = prod(len(axis.values) for axis in self.axes)
        if size < 2:
            raise LearnableError(
                "there is no knob to turn: give one a range, as in `knobs` NAME=LOW..HIGH (learnable forms FAMILY "
                "shows what there is)"
            )
        if size > MAX_SETTINGS:
            shape = " x ".join(str(len(axis.values)) for axis in self.axes)
            raise LearnableError(
                f"{shape} settings of the knobs are too many: give fewer values, {MAX_SETTINGS} settings at most"
            )

    def cells(self) -> list[dict[str, str]]:
        """Return the settings of the grid, the last knob turning fastest."""
        names = [axis.knob for axis in self.axes]
        return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in self.axes))]

    def points(self) -> list[tuple[float, ...]]:
        """Return where each of `cells` lies: the rank of each knob's value, from 0 for its first to 1 for its last.

        Ranks, since users choose values where they expect the policy to change, and ranges may be powers of ten.
        """
        ranks = [[place / max(len(axis.values) - 1, 1) for place in range(len(axis.values))] for axis in self.axes]
        return list(product(*ranks))

    @property
    def turned(self) -> tuple[str, ...]:
        """The knobs that have more than one value."""
        return tuple(axis.knob for axis in self.axes if len(axis.values) > 1)


def read_axis(knob: str, text: str) -> KnobAxis:
    """Read the values of a knob: a range as `2..6`, a list as `2,5,10`, or one value.

    A range between whole numbers has all of those, up to `MAX_KNOB_VALUES`; a wider one has so many of them, and
    others so many numbers: in equal ratios where the ends are `MIN_GEOMETRIC_RATIO` apart, in equal steps elsewhere.
    Raises `LearnableError` for a range whose ends are no numbers, or not in their order.

    >>> read_axis("terms", "2..6").values
    ('2', '3', '4', '5', '6')
    >>> read_axis("largest", "10..1000").values[:4], read_axis("alpha", "0.5,1").values
    (('10', '15', '23', '35'), ('0.5', '1'))
    """
    low, dots, high = text.partition("..")
    if not dots:
        values = tuple(dict.fromkeys(value.strip() for value in text.split(",")))
        if not all(values):
            raise LearnableError(f"`knobs` {knob}={text}: a value is missing: give them as in {knob}=2,5,10")
        return KnobAxis(knob, values)
    try:
        ends = float(low), float(high)
    except ValueError as error:
        raise LearnableError(
            f"`knobs` {knob}={text} is no range: give two numbers as in {knob}=2..6, or values as in {knob}=2,5,10"
        ) from error
    if not ends[0] < ends[1] < float("inf"):
        raise LearnableError(f"`knobs` {knob}={text} has no values: give the lower end first, as in {knob}=2..6")
    is_whole = all(end.strip().lstrip("-").isdigit() for end in (low, high))
    return KnobAxis(knob, _whole_values(*map(int, ends)) if is_whole else tuple(f"{v:.4g}" for v in _divide(*ends)))


def find_grid(family: str, given: Mapping[str, str]) -> KnobGrid:
    """Return the grid that users ask for; where they give no knob a range, that of the family's usual ranges.

    `given` maps knobs to what `read_axis` reads, also with the family before them as in `arithmetic.largest`. Raises
    `LearnableError` where there is nothing to turn.
    """
    from learnable.verifiers.families.registry import ALL_FAMILIES  # all families, which settings need not know

    axes = [read_axis(knob, text) for knob, text in given.items()]
    if not any(len(axis.values) > 1 for axis in axes):
        named = {axis.knob.rpartition(".")[2] for axis in axes}
        usual = ALL_FAMILIES[family].usual_ranges if family in ALL_FAMILIES else {}
        axes += [read_axis(knob, text) for knob, text in usual.items() if knob not in named]
    return KnobGrid(tuple(axes))


def find_moved_forms(family: str, grid: KnobGrid, seed: int = 0) -> list[str]:
    """Return the family's usual forms whose prompts are not the same at every setting of the grid.

    The others would pass as often whatever the knobs are. Of those that are moved, forms without prompts at some
    settings are left out where others have prompts at all of them: what comes and goes is another question. All forms
    are returned where none is moved.
    """
    from learnable.verifiers.families.registry import find_family

    source = find_family(family)
    settings = [
        source.set_knobs({name.removeprefix(f"{family}."): value for name, value in knobs.items()})
        for knobs in grid.cells()
    ]
    firsts = {form: _first_prompts(source, form, settings, seed) for form in source.forms}
    moved = [form for form in source.forms if any(some != firsts[form][0] for some in firsts[form])]
    return [form for form in moved if all(firsts[form])] or moved or list(source.forms)


def _first_prompts(family: Family, form: str, settings: Sequence[Any], seed: int) -> list[list[str]]:
    # So many prompts of a form show whether a knob moves it.
    return [[p.prompt_id for p in islice(family.generate(form, seed, knobs), 8)] for knobs in settings]


def _whole_values(low: int, high: int) -> tuple[str, ...]:
    values: Sequence[float] = range(low, high + 1)
    if len(values) > MAX_KNOB_VALUES:
        values = _divide(low, high)
    return tuple(dict.fromkeys(str(round(value)) for value in values))


def _divide(low: float, high: float) -> list[float]:
    shares = [step / (MAX_KNOB_VALUES - 1) for step in range(MAX_KNOB_VALUES)]
    if low > 0 and high / low >= MIN_GEOMETRIC_RATIO:
        return [low * (high / low) ** share for share in shares]
    return [low + (high - low) * share for share in shares]
