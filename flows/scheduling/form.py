"""How the form of Prefect's UI words the settings of a flow: by their names there, not as flags or as code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, get_args, get_type_hints

from learnable.data.settings import list_settings
from learnable.rollouts.registry import EngineSettings, list_engines

FLAG = re.compile(r"--[a-z][a-z-]*[a-z]")
REPEATABLE = re.compile(r"; repeatable(?=\.)|(?<=;) repeatable,| Repeatable: .*")  # a list has a button for that
FOR_CODE = re.compile(r"\s*Raises `\w+` .*?\.(?=\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Form:
    """Marks a parameter of a flow, as in `settings: Annotated[CurateSettings, Form(CurateSettings)]`.

    Its schema, which Prefect shows, then speaks of fields where help speaks of flags, says what an empty field stands
    for, and leaves out what a docstring says to programmers.
    """

    kind: type[Any]

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Mapping[str, object]:
        """Word what pydantic says of the settings and of all that they hold."""
        schema: dict[str, Any] = handler(core)
        kinds = {kind.__name__: kind for kind in _list_kinds(self.kind)}
        fields = {
            flag: name for kind in kinds.values() for name, one in list_settings(kind).items() for flag in one.flags
        }
        for part in _walk(schema, handler, set()):
            if "properties" in part and (kind := kinds.get(part.get("title", ""))) is not None:
                _word(part, kind, fields)
        return schema


def _list_kinds(kind: Any) -> Iterator[type[Any]]:
    """Yield the classes of settings that a type has in it, at any depth."""
    if kind is EngineSettings:
        yield from list_engines().values()
    elif is_dataclass(kind) and isinstance(kind, type):
        yield kind
        for hint in get_type_hints(kind).values():
            yield from _list_kinds(hint)
    else:
        for part in get_args(kind):
            yield from _list_kinds(part)


def _walk(schema: dict[str, Any], handler: Any, seen: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that a schema refers to, each once."""
    found = handler.resolve_ref_schema(schema)
    if id(found) in seen:
        return
    seen.add(id(found))
    yield found
    for part in (*found.get("properties", {}).values(), *found.get("anyOf", ())):
        yield from _walk(part, handler, seen)


def _word(schema: dict[str, Any], kind: type[Any], fields: Mapping[str, str]) -> None:
    """Word the description of a class of settings and those of its fields."""
    schema["description"] = FOR_CODE.sub("", schema.get("description", "")).strip()
    for name, declared in list_settings(kind).items():
        said = REPEATABLE.sub("", declared.setting.help)
        if declared.setting.usual and declared.default in (None, "", (), {}):
            said += f" {'None' if declared.default is None else 'Empty'}: {declared.setting.usual}."
        said = FLAG.sub(lambda flag: f"`{fields.get(flag[0], flag[0])}`", said)
        schema["properties"][name]["description"] = said.replace("<", "&lt;")  # the form takes it for HTML
