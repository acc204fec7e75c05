"""Where forms come from: the tables beside this module, a user's own file, or a prompt's spec."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Spec
from learnable.data.sources.family import FORMS_LISTED_BY, fold_name
from learnable.verifiers.poetry.forms.form import Form
from learnable.verifiers.poetry.forms.reading import FormKeyError, constrain_form, read_form

CORE = "core"  # the forms that the bundled policy knows, and that are drawn where no form is named


@cache
def poem_forms() -> Mapping[str, Form]:
    """Return every form that comes with the library by its canonical name, the `core` ones first."""
    folder = resources.files("learnable.verifiers.poetry.forms")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    files.sort(key=lambda file: file.name != f"{CORE}.toml")
    forms: dict[str, Form] = {}
    for file in files:
        forms |= read_forms(file.read_text(encoding="utf-8"), file.name)
    return forms


def find_form(name: str) -> Form:
    """Return the poem form called `name` (canonical name, title or alias).

    Raises `UnknownNameError` with the nearest names.
    """
    if (form := _by_fold().get(fold_name(name))) is None:
        raise UnknownNameError("poem form", name, poem_forms(), FORMS_LISTED_BY)
    return form


def form_of_spec(spec: Spec) -> Form:
    """Return the form that a spec names or carries (`declaration`), with what the spec sets itself.

    Raises `LearnableError` for an unknown name or a wrong declaration.
    """
    return _form_of_json(json.dumps(dict(spec), sort_keys=True))


@lru_cache(maxsize=4096)
def _form_of_json(spec_json: str) -> Form:
    spec = json.loads(spec_json)
    if "declaration" not in spec:
        return constrain_form(find_form(spec["form"]), spec)
    return constrain_form(read_form(spec["form"], spec["declaration"], "spec"), spec)


def load_forms(path: str | Path) -> dict[str, Form]:
    """Return the forms of a user's file by name. Raises `LearnableError` naming the file, the line and the key."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LearnableError(f"forms file {path}: {error}: give a TOML file of form declarations") from error
    forms = read_forms(text, str(path))
    if not forms:
        raise LearnableError(f"forms file {path}: declares no form: write a [Name] table for each")
    return forms


def read_forms(text: str, source: str) -> dict[str, Form]:
    """Return the forms that a TOML text declares, in its order; `source` is the file's name, for errors.

    Raises `LearnableError` naming the file, the line and the key.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LearnableError(f"{source}: {error}") from error
    forms = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise LearnableError(f"{source}: line {_line(text, '', name)}: {name!r} stands outside a [Form] table")
        try:
            forms[name] = read_form(name, table, Path(source).stem)
        except FormKeyError as error:
            raise LearnableError(f"{source}: line {_line(text, name, error.key)}: form {name}: {error}") from error
    return forms


def _line(text: str, table: str, key: str) -> int:
    """Return the number of the line that sets `key` in a table, else of the table's header."""
    header = re.compile(rf"\s*\[+\s*[\"']?{re.escape(table)}[\"']?\s*[\].]")
    setting = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=|\s*\[.*\.{re.escape(key)}\s*\]")
    inside, at = not table, 1
    for number, line in enumerate(text.splitlines(), 1):
        if header.match(line) and table:
            inside, at = True, max(at, number) if not inside else at
        elif line.lstrip().startswith("[") and inside and table:
            break
        if inside and setting.match(line):
            return number
    return at


@cache
def _by_fold() -> Mapping[str, Form]:
    return {
        fold_name(alias): form for form in poem_forms().values() for alias in (*form.aliases, form.title, form.name)
    }
