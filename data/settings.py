"""A setting, declared once at its field: what it is for, which values work, and its name on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from learnable.data.errors import LearnableError


@dataclass(frozen=True, slots=True)
class Setting:
    """What the annotation of a field says beside its type: `steps: Annotated[int, Setting("Steps.", above=0)]`.

    A field whose type is a `Literal` has its choices from there.

    Args:
        help: what it is for, in a sentence or two.
        panel: the heading under which `--help` lists it, where not that of its class.
        flag: its names on the command line, with spaces between, where not the field's; None for no flag.
        usual: in words, what its default stands for.
        at_least, above, at_most, below: bounds of a number; `below=math.inf` takes finite numbers alone.
        advice: what a message adds to the bounds, such as `16 is usual`.
    """

    help: str
    panel: str = ""
    _: KW_ONLY
    flag: str | None = ""
    usual: str = ""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    advice: str = ""

    @property
    def range(self) -> str:
        """The numbers that work, in words; empty where all do."""
        finite = None if self.below == math.inf else self.below
        ends = (
            f"{self.at_least:g} or more" if self.at_least is not None else "",
            f"more than {self.above:g}" if self.above is not None else "",
            f"at most {self.at_most:g}" if self.at_most is not None else "",
            f"less than {finite:g}" if finite is not None else "",
        )
        return " and ".join(filter(None, ends))

    def admits(self, value: float) -> bool:
        """Whether a number lies inside the bounds; NaN lies in none."""
        return (
            not math.isnan(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def __get_pydantic_json_schema__(
        self, core: Any, handler: Callable[[Any], Mapping[str, object]]
    ) -> Mapping[str, object]:
        """Add the help and the bounds to what pydantic says of the type: Prefect shows them, and keeps to them."""
        bounds = {"minimum": self.at_least, "exclusiveMinimum": self.above}
        bounds |= {"maximum": self.at_most, "exclusiveMaximum": None if self.below == math.inf else self.below}
        return {**handler(core), "description": self.help, **{k: v for k, v in bounds.items() if v is not None}}


@dataclass(frozen=True, slots=True)
class DeclaredSetting:
    """A setting with its field's name, type (None left out where `optional`) and default, `MISSING` for none."""

    name: str
    kind: Any
    optional: bool
    default: Any
    setting: Setting

    @property
    def flags(self) -> tuple[str, ...]:
        """Its names on the command line; none for a setting that has no flag."""
        if self.setting.flag is None:
            return ()
        return tuple(self.setting.flag.split()) or (f"--{self.name.replace('_', '-')}",)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; empty where others may be given too."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def wanted(self) -> str:
        """What values work, in words."""
        number = {int: "a whole number", float: "a number"}.get(self.kind, "a value")
        return " or ".join(self.choices) or ", ".join(filter(None, (number, self.setting.range)))

    def works(self, value: Any) -> bool:
        """Whether a value is among the choices, or a number inside the bounds; of other types all are taken to be."""
        if value is None and self.optional:
            return True
        if self.kind not in (int, float):
            return not self.choices or value in self.choices
        numbers = int if self.kind is int else int | float
        return isinstance(value, numbers) and not isinstance(value, bool) and self.setting.admits(value)

    def check(self, value: Any) -> None:
        """Raise `LearnableError` with the name, the value and the fix for a value that cannot work.

        The command line writes its flag for a name in backticks.
        """
        if self.works(value):
            return
        name, advice = f"`{self.name}`", self.setting.advice
        if self.choices:
            raise LearnableError(f"{name} {value!r} is not known: choose one of {', '.join(self.choices)}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise LearnableError(f"{name} {value!r} is no number: give {self.wanted}")
        shown = f"{value:g}" if isinstance(value, float) else value
        fix = self.wanted if self.setting.admits(value) else self.setting.range
        raise LearnableError(f"{name} {shown} is out of range: give {fix}{advice and f', {advice}'}")


def list_settings(kind: type[Any]) -> Mapping[str, DeclaredSetting]:
    """Return the settings of a dataclass by name, those of its fields that are annotated with a `Setting`."""
    key: Any = kind  # mypy takes no class for hashable
    return _find_settings(key)


@cache
def _find_settings(kind: Any) -> Mapping[str, DeclaredSetting]:
    hints = get_type_hints(kind, include_extras=True)
    settings = {}
    for field in fields(kind):
        hint = hints[field.name]
        declared = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Setting)]
        if declared:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            bare, optional = _without_none(get_args(hint)[0] if get_origin(hint) is Annotated else hint)
            settings[field.name] = DeclaredSetting(field.name, bare, optional, default, declared[0])
    return settings


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether that was among its types."""
    if get_origin(hint) not in (Union, UnionType) or NoneType not in get_args(hint):
        return hint, False
    others = tuple(kind for kind in get_args(hint) if kind is not NoneType)
    return Union[others], True  # noqa: UP007  # of one type that is the type itself


def check_settings(settings: Any) -> None:
    """Raise `LearnableError` for the first setting of a dataclass whose value cannot work, whatever the others are."""
    for name, declared in list_settings(type(settings)).items():
        declared.check(getattr(settings, name))
