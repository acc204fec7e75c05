"""A family of generated prompts: its forms, its knobs, and the order in which prompts are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Prompt, Spec
from learnable.data.sources.chance import hash_to_uniform
from learnable.data.sources.wording import QuestionKind, Wording

T = TypeVar("T")
Knobs = Mapping[str, str | float]  # by name; texts are read as the type of the knob
FORMS_LISTED_BY = "learnable forms"  # there are hundreds


class DeclaredForm(Protocol):
    """A form that a file declares: its names, whether it can be a reward, and the declaration that judges it.

    `check` is "structure" where the declaration says all, "proxy" where something stands in for what cannot be
    checked, "theme" for a form that cannot be a reward; `why` says why not.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def aliases(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def check(self) -> str: ...  # noqa: D102
    @property
    def why(self) -> str: ...  # noqa: D102
    @property
    def is_reward(self) -> bool: ...  # noqa: D102
    def declaration(self) -> Spec: ...  # noqa: D102


def fold_name(name: str) -> str:
    """Fold a form name so that case, spaces, hyphens and underscores do not matter.

    >>> fold_name("Shakespearean-Sonnet") == fold_name("shakespearean sonnet")
    True
    """
    return name.casefold().replace(" ", "").replace("-", "").replace("_", "").replace("'", "")


class UsualNumber(int):
    """The default of a knob that binds some forms alone until users set it: what they set holds in every question."""

    @classmethod
    def is_kept(cls, value: int) -> bool:
        """Whether nobody set the knob that has this value."""
        return isinstance(value, cls)


@dataclass(frozen=True, slots=True)
class Knob:
    """A knob as users see it. `low` and `high` are the least and the largest value; a text has none."""

    name: str
    kind: type[Any]
    default: str | float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """A named group of forms that share knobs.

    The fields of `knobs` are the knobs, each declared by `knob`. A knob that users set holds in every question of the
    family, and a form that cannot keep it has none. `generate(form, seed, knobs)` yields distinct prompts of one form
    in an order that the seed fixes; it ends when the form has no more. `aliases` gives other names of forms.
    `on_request` are further forms, which are drawn only where they are named.

    `count(forms, knobs)` is the exact number of distinct problems that the forms have together. A family without it
    does not know, or has no knob that would give more.

    `usual_ranges` says where knobs are tried unless users say where. `needs(prompt)` is what a question needs each of
    the `readable` knobs to be, as far as its form has to do with it; `parts` are families whose prompts this one mixes,
    and which keep their names. `curriculum` is a file of stages, called after the family.

    `kinds` are the kinds of question that a wording may ask in other words, and `word_lists` what else it may have;
    `natural` is the file of our own. A family that `reads_forms` overrides what is said of declared forms below; `own`
    are then a user's, by name.
    """

    name: str
    forms: tuple[str, ...]
    knobs: type[Any]
    generate: Callable[[str, int, Any], Iterator[Prompt]]
    aliases: Mapping[str, str] = field(default_factory=dict)
    on_request: tuple[str, ...] = ()
    count: Callable[[Sequence[str], Any], int] | None = None
    usual_ranges: Mapping[str, str] = field(default_factory=dict)
    needs: Callable[[Prompt], Mapping[str, float]] | None = None
    readable: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    curriculum: Path | None = None
    kinds: Mapping[str, QuestionKind] = field(default_factory=dict)
    word_lists: tuple[str, ...] = ()
    natural: Path | None = None
    reads_forms: bool = False
    own: Mapping[str, DeclaredForm] = field(default_factory=dict)

    def known_forms(self) -> tuple[str, ...]:
        """Return the forms that users may name: those drawn by default, and those on request."""
        return tuple(dict.fromkeys([*self.forms, *self.on_request]))

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield every name of every form, and the form; a name that comes again means the later form."""
        yield from self.aliases.items()
        yield from ((form, form) for form in (*self.forms, *self.on_request))

    def every_form(self) -> tuple[str, ...]:
        """Return the declared forms that can be a reward."""
        return ()

    def check_form(self, form: str) -> None:
        """Raise `LearnableError` for a form that cannot be a reward."""

    def find_declared(self, form: str) -> DeclaredForm | None:
        """Return a form's declaration, a user's own before ours, or None where it has none."""

    def list_rules(self, declared: DeclaredForm) -> list[str]:
        """Return what a declared form asks for, in words."""
        raise NotImplementedError

    def load_forms(self, path: str) -> Mapping[str, DeclaredForm]:
        """Return the forms of a user's file by name. Raises `LearnableError` naming the file, the line and the key."""
        raise NotImplementedError

    def own_names(self) -> Iterator[tuple[str, str]]:
        """Yield every name of every form of a user's, and the form."""
        for declared in self.own.values():
            yield from ((name, declared.name) for name in (*declared.aliases, declared.title, declared.name))

    def with_own(self, own: Mapping[str, DeclaredForm]) -> Self:
        """Return the family with a user's forms, if it reads any."""
        return replace(self, own=own) if own and self.reads_forms else self

    def reword(self, prompt: Prompt, wording: Wording, given: Knobs) -> Prompt:
        """Return a prompt in other words, about the same problem, or as it is where none fit. `given` are users' knobs.

        Which words it gets follows from its content alone.
        """
        for name, kind in self.kinds.items():
            if parts := kind.read(prompt.text):
                text = wording.choose(name, parts, prompt.prompt_id)
                if text is not None:
                    return replace(prompt, prompt=text, named_problem=prompt.problem_id)
        return prompt

    def read_needed(self, prompt: Prompt) -> Mapping[str, float]:
        """Return what a question needs each knob to be: whether a stage of a curriculum could ask it."""
        needs = self.needs(prompt) if self.needs else {}
        return needs or ({} if prompt.difficulty is None else {"difficulty": prompt.difficulty})

    def draw(self, forms: Sequence[str], seed: int, knobs: Any) -> Iterator[Prompt]:
        """Yield the prompts of these forms, which take turns in an order that the seed draws.

        What runs dry leaves its turns to the others. Where problems are counted, each is yielded once before any is
        yielded in other words.
        """
        # In the order of a bank, topics and levels come one after another.
        order = sorted(forms, key=lambda form: hash_to_uniform(seed, "turns", self.name, form))

        def in_turns() -> Iterator[Prompt]:
            return take_turns([self.generate(form, seed, knobs) for form in order])

        return _problems_first(in_turns) if self.count else in_turns()

    def list_knobs(self) -> list[Knob]:
        """Return every knob with its type, its default and its range."""
        defaults, listed = self.knobs(), []
        for name, declared in self._knob_fields().items():
            default, limits = getattr(defaults, declared.name), declared.metadata.get("range", (None, None))
            listed.append(Knob(name, _kind_of(default), default, *limits))
        return listed

    def knob_names(self) -> tuple[str, ...]:
        """Return the names of the knobs, as users give them."""
        return tuple(self._knob_fields())

    def knob_defaults(self) -> dict[str, float | str]:
        """Return what each knob is where users do not set it, by its name for users."""
        return {knob.name: knob.default for knob in self.list_knobs()}

    def set_knobs(self, values: Knobs) -> Any:
        """Return the knobs with `values` in place of their defaults; texts are read as the default's type.

        Raises `LearnableError` for an unknown knob, with the nearest names, and for a value that is not a number.
        """
        defaults, known = self.knobs(), self._knob_fields()
        read: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                raise unknown_knob(f"{self.name} prompts", name, tuple(known))
            field_name = known[name].name
            read[field_name] = _read_knob(self.name, name, value, _kind_of(getattr(defaults, field_name)))
        return self.knobs(**read)

    def _knob_fields(self) -> dict[str, Field[Any]]:
        return {_name_of(declared): declared for declared in fields(self.knobs)}


def knob(default: Any, low: float | None = None, high: float | None = None, name: str = "") -> Any:
    """Declare a field as a knob. `check_knobs` holds it to the range; `name` is its name for users, if another one."""
    limits = {} if low is None else {"range": (low, high)}
    return field(default=default, metadata=limits | ({"knob": name} if name else {}))


def check_knobs(place: str, knobs: Any) -> None:
    """Raise `LearnableError` for the first knob that is out of its range."""
    for declared in fields(knobs):
        if limits := declared.metadata.get("range"):
            require(place, _name_of(declared), getattr(knobs, declared.name), *limits)


def unknown_knob(place: str, name: str, known: Sequence[str]) -> LearnableError:
    """Return the error for a knob that `place` does not have."""
    near = nearest_names(name, known)
    offer = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(sorted(known))}"
    return LearnableError(f"{place} have no knob {name!r}: {offer}")


def require(place: str, name: str, value: float, low: float, high: float) -> None:
    """Raise `LearnableError` unless `low <= value <= high`."""
    if not low <= value <= high:
        raise LearnableError(f"{place} knob {name}={value} is out of range: give {low} to {high}")


def read_levels(place: str, text: str) -> tuple[float, float]:
    """Return the lowest and highest difficulty in a knob such as `3`, which has 3.5 too, or `2-5`.

    Raises `LearnableError` unless both are on the scale from 1 to 10, the lower one first.

    >>> [read_levels("code", text) for text in ("2-5", "3", "3.5")]
    [(2.0, 5.0), (3.0, 3.9), (3.5, 3.5)]
    """
    first, dash, last = text.partition("-")
    try:
        low = float(first)
        high = float(last) if dash else low + 0.9 * low.is_integer()  # levels have one decimal
    except ValueError:
        low = high = 0.0
    if not 1 <= low <= min(high, 10):
        raise LearnableError(
            f"{place} knob difficulty={text!r} is not a level: give one from 1 to 10, or two, as in 2-5"
        )
    return low, high


def shuffled_range(size: int, seed: str) -> Iterator[int]:
    """Yield each of `range(size)` once in a seeded random order, with memory for what was yielded only.

    This is Fisher and Yates' shuffle on a sparse array, so a form may have billions of prompts.

    >>> sorted(shuffled_range(5, "a")) == list(range(5))
    True
    """
    rng = random.Random(seed)
    moved: dict[int, int] = {}
    for index in range(size):
        chosen = rng.randrange(index, size)
        value = moved.get(chosen, chosen)
        moved[chosen] = moved.pop(index, index)
        yield value


def shuffled_grid(seed: str, *axes: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield each combination of one value from every axis once, in a seeded random order."""
    size = 1
    for axis in axes:
        size *= len(axis)
    for index in shuffled_range(size, seed):
        point = []
        for axis in axes:
            index, offset = divmod(index, len(axis))
            point.append(axis[offset])
        yield tuple(point)


def take_turns(streams: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yield an item of each stream in turn; what runs dry leaves its turns to the others.

    >>> list(take_turns([iter("abc"), iter("x")]))
    ['a', 'x', 'b', 'c']
    """
    waiting = list(streams)
    while waiting:
        still = []
        for stream in waiting:
            for item in islice(stream, 1):
                still.append(stream)
                yield item
        waiting = still


def count_pairs(size: int) -> int:
    """Return how many pairs there are of so many things, in no order, with a thing and itself.

    >>> count_pairs(21)
    231
    """
    return size * (size + 1) // 2


def distinct(prompts: Iterator[Prompt]) -> Iterator[Prompt]:
    """Yield the prompts whose content was not yielded before."""
    ids: set[str] = set()
    for prompt in prompts:
        if prompt.prompt_id not in ids:
            ids.add(prompt.prompt_id)
            yield prompt


def _problems_first(draw: Callable[[], Iterator[Prompt]]) -> Iterator[Prompt]:
    """Yield one prompt of each problem, in the order of the draw, and then the prompts that are left.

    Those are drawn once more, for they may be many times what is wanted, and too many to be held.
    """
    problems: set[str] = set()
    yielded: set[str] = set()
    for prompt in draw():
        if prompt.problem_id not in problems:
            problems.add(prompt.problem_id)
            yielded.add(prompt.prompt_id)
            yield prompt
    for prompt in draw():
        if prompt.prompt_id not in yielded:
            yielded.add(prompt.prompt_id)
            yield prompt


def on_scale(value: float) -> float:
    """Clip a difficulty to 1..10, rounded to a tenth."""
    return round(min(10.0, max(1.0, float(value))), 1)


def _kind_of(default: Any) -> type[Any]:
    return int if isinstance(default, UsualNumber) else type(default)


def _read_knob(family: str, name: str, value: Any, kind: type[Any]) -> Any:
    if isinstance(value, UsualNumber):
        return value
    try:
        if kind is int and isinstance(value, float | bool):
            raise ValueError  # int() would round it
        return kind(value)
    except (TypeError, ValueError) as error:
        wanted = "a whole number" if kind is int else "a number"
        raise LearnableError(f"{family} knob {name}={value!r} is not {kind.__name__}: give {wanted}") from error


def _name_of(declared: Field[Any]) -> str:
    return str(declared.metadata.get("knob", declared.name))
