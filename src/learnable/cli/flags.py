"""Flags from settings: a setting is declared at its field, and a command says what else it asks of the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property, update_wrapper
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.settings import DeclaredSetting, list_settings

FLAG_NAMES: dict[str, str] = {}
"""Flags by the names that messages have for them: a setting's, or `NAME=False` for a switch that is turned off."""

Command = Callable[..., None]
Reader = Callable[[Any], Any]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """In what a flag differs from its setting; what is left out is the setting's.

    `kind` is the type of what is typed, and `default` stands where nothing is. `read` makes the setting's value of
    both, and raises `LearnableError` for what is none.
    """

    help: str = ""
    panel: str = ""
    flag: str = ""
    kind: Any = None
    default: Any = ...
    read: Reader | None = None
    complete: Callable[[str], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class SettingFlags:
    """The flags of settings, as `flags_of` says which."""

    settings: Mapping[str, DeclaredSetting]
    panel: str
    unset: bool
    names: tuple[str, ...]
    others: Mapping[str, Flag]

    def list_parameters(self) -> list[Parameter]:
        """Return a parameter for each flag, as Typer reads it."""
        return [self._make_parameter(self.settings[name], self.others.get(name, Flag())) for name in self.names]

    def _make_parameter(self, declared: DeclaredSetting, flag: Flag) -> Parameter:
        setting = declared.setting
        typed = flag.kind or _type_typed(declared.kind)
        default = None if flag.kind or declared.default in ((), {}) else declared.default
        if flag.default is not ... or self.unset:
            default = None if self.unset else flag.default
        names = flag.flag.split() or list(declared.flags)
        if declared.kind is bool and not flag.flag:
            names = [f"{name}/--no-{name[2:]}" if declared.default else name for name in names]
        option = typer.Option(
            *names,
            help=flag.help or _explain(declared, shows_default=default not in (None, "")),
            rich_help_panel=flag.panel or setting.panel or self.panel,
            autocompletion=flag.complete,
        )
        return Parameter(
            declared.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if default is MISSING else default,
            annotation=Annotated[typed | None if default is None else typed, option],
        )

    def read(self, typed: JsonObject) -> JsonObject:
        """Return the settings' values by name. Raises `LearnableError` for one that cannot work."""
        values = {}
        for name in self.names:
            declared, read, value = self.settings[name], self.others.get(name, Flag()).read, typed[name]
            if self.unset and value in (None, []):
                continue
            values[name] = read(value) if read else _read_typed(declared, value)
            if values[name] is not None:  # else what needs it says so
                declared.check(values[name])
        return values


@dataclass(frozen=True, slots=True)
class Given:
    """What was typed of a class of settings; `typed` has what Typer made of it, by the settings' names."""

    flags: SettingFlags
    typed: JsonObject

    def read(self) -> JsonObject:
        """Return the settings' values by name, of `unset` flags those that were typed.

        Raises `LearnableError` for one that cannot work.
        """
        return self.flags.read(self.typed)


def flags_of(kind: type[Any], panel: str = "", *, unset: bool = False, only: str = "", **others: Flag) -> SettingFlags:
    """Give a parameter of type `Given` the flags of a class of settings, as its annotation.

    They stand under `panel` where a setting names no other. `unset` gives them no default, for settings that a preset
    or a set fills in. `only` names settings, with spaces between, that are the only ones to have a flag. `others` say
    in what a flag differs from its setting. Raises `KeyError` for a name that is no setting's.
    """
    settings = list_settings(kind)
    names = only.split() or [name for name, one in settings.items() if one.flags]
    for name in (*names, *others):
        settings[name]
    return SettingFlags(settings, panel, unset, tuple(names), others)


def flags_of_any(kinds: Iterable[type[Any]], panel: str = "") -> SettingFlags:
    """Give a parameter of type `Given` the flags of several classes of settings, of which a command makes one.

    What several classes declare alike has one flag. What must be given, must be only where its class is the one.
    Raises `ValueError` where two declare a setting of one name in different ways.
    """
    settings: dict[str, DeclaredSetting] = {}
    for kind in kinds:
        for name, declared in list_settings(kind).items():
            if settings.setdefault(name, declared) != declared:
                raise ValueError(f"setting {name!r} of {kind.__name__} is another class's too, and declared otherwise")
    needed = {name: Flag(default=None) for name, declared in settings.items() if declared.default is MISSING}
    return SettingFlags(settings, panel, False, tuple(name for name, one in settings.items() if one.flags), needed)


def option_of(kind: type[Any], name: str, flag: Flag | None = None) -> Any:
    """Return the option of one setting of a class, for a command that makes no settings of it."""
    [parameter] = SettingFlags(list_settings(kind), "", False, (name,), {name: flag or Flag()}).list_parameters()
    return get_args(parameter.annotation)[1]


def with_flags(*panels: str) -> Callable[[Command], Command]:
    """Let a command take groups of flags; `panels` are the first headings of its `--help`, in their order.

    A parameter whose type is a dataclass becomes a flag for each of the dataclass's fields, and one of type `Given` the
    flags that its `flags_of` says; so does such a field. The command gets the dataclass, and what was typed.
    """
    return lambda command: _FlaggedCommand(command, panels)


class _FlaggedCommand:
    """A command as Typer reads it. What its flags are is found out when they are asked for: most commands never are."""

    def __init__(self, command: Command, panels: Sequence[str]) -> None:
        update_wrapper(self, command, ("__module__", "__name__", "__qualname__", "__doc__"))
        self.__annotations__ = {}  # its signature has them
        self._command = command
        self._panels = panels

    def __call__(self, **typed: Any) -> None:
        self._command(**{name: group.make(typed) for name, group in self._groups.items()})

    @cached_property
    def _groups(self) -> Mapping[str, _FlagGroup]:
        hints = get_type_hints(self._command, include_extras=True)
        parameters = signature(self._command).parameters
        return {name: _FlagGroup.of(name, hints[name], one.default) for name, one in parameters.items()}

    @property
    def __signature__(self) -> Signature:
        order = {title: place for place, title in enumerate(self._panels)}
        flags = [flag for group in self._groups.values() for flag in group.flags]
        return Signature(sorted(flags, key=lambda flag: order.get(_find_panel(flag), len(order))))


@dataclass(frozen=True, slots=True)
class _FlagGroup:
    """A parameter or a field: the flags that it becomes, and how it is made of what was typed."""

    flags: list[Parameter]
    make: Callable[[JsonObject], Any]

    @classmethod
    def of(cls, name: str, hint: Any, default: Any) -> _FlagGroup:
        if is_dataclass(hint) and isinstance(hint, type):
            hints = get_type_hints(hint, include_extras=True)
            parts = {
                one.name: cls.of(one.name, hints[one.name], Parameter.empty if one.default is MISSING else one.default)
                for one in fields(hint)
            }
            flags = [flag for part in parts.values() for flag in part.flags]
            return cls(flags, lambda typed: hint(**{name: part.make(typed) for name, part in parts.items()}))
        wanted = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, SettingFlags)), None)
        if wanted is not None:
            return cls(wanted.list_parameters(), lambda typed: Given(wanted, typed))
        flag = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        return cls([flag], lambda typed: typed[name])


class FlagCommand(TyperCommand):
    """A command whose messages say flags where those of Python say settings."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        learn_flags(self, self.find_root(ctx))
        return super().invoke(ctx)

    def find_root(self, ctx: Any) -> Any:
        """Return the command that this one is part of."""
        return ctx.find_root().command


class FlagApp(typer.Typer):
    """Commands whose messages say flags."""

    def command(self, *names: Any, **options: Any) -> Callable[[Function], Function]:
        """Return what makes a function a command of this application, as typer does."""
        return super().command(*names, **({"cls": FlagCommand} | options))


def learn_flags(running: Any, root: Any) -> None:
    """Let `name_flags` know the flags of the command that runs, and of the root's others for what that one has not."""
    FLAG_NAMES.clear()
    for command in (running, *root.commands.values()):
        for option in command.params:
            if option.param_type_name == "option":
                FLAG_NAMES.setdefault(option.name, next(flag for flag in option.opts if flag.startswith("--")))
                FLAG_NAMES.setdefault(f"{option.name}=False", next(iter(option.secondary_opts), ""))


def name_flags(text: str) -> str:
    """Return a message with flags for the names of settings in it.

    >>> FLAG_NAMES.update({"group_size": "--group-size", "evaluate=False": "--no-evaluate"})
    >>> name_flags("`group_size` 1 is out of range, as `rows` is; train with `evaluate=False`")
    '--group-size 1 is out of range, as `rows` is; train with --no-evaluate'
    """
    return re.sub(r"`(\w+(?:=False)?)`", lambda match: FLAG_NAMES.get(match[1]) or match[0], text)


def _find_panel(flag: Parameter) -> str:
    return str(get_args(flag.annotation)[1].rich_help_panel)


def _explain(declared: DeclaredSetting, *, shows_default: bool) -> str:
    """Return the help, with the default in words where Typer does not show it."""
    setting, default = declared.setting, declared.default
    usual = setting.usual or ("" if default in (None, MISSING, "", (), {}) or default is False else default)
    if shows_default or usual == "":
        return setting.help
    return f"{setting.help} (default: {'yes' if usual is True else usual})"


def _type_typed(kind: Any) -> Any:
    """Return the type of what is typed: several texts for what holds several, and a text for a choice."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Literal:
        return str
    if origin is tuple and inside[1:] == (Ellipsis,):
        return list[inside[0]]  # type: ignore[valid-type]  # a type that is made here
    return list[str] if origin is not None and issubclass(origin, Mapping) else kind


def _read_typed(declared: DeclaredSetting, value: Any) -> Any:
    """Return a setting's value from what was typed."""
    origin, inside = get_origin(declared.kind), get_args(declared.kind)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        pairs = read_pairs(value, declared.flags[0])
        return pairs if inside[1] is str else {name: read_literal(text) for name, text in pairs.items()}
    if origin is tuple and (value is not None or not declared.optional):
        return tuple(value or ())
    return value


def read_pairs(items: Sequence[str] | None, flag: str) -> dict[str, str]:
    """Return what NAME=VALUE items say. Raises `LearnableError` for one that is none."""
    pairs = {}
    for item in items or ():
        name, separator, value = item.partition("=")
        if not (name and separator):
            raise LearnableError(f"{flag} {item!r} is not NAME=VALUE")
        pairs[name] = value
    return pairs


def read_literal(text: str) -> Any:
    """Return what JSON says, or the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
