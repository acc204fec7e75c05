"""`learnable forms`: the built-in families and their forms, or one of them rule by rule."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.terminal_text import print_text, shorten

if TYPE_CHECKING:
    from learnable.data.records import JsonObject, Prompt
    from learnable.data.sources.family import DeclaredForm, Family, Knob
    from learnable.verifiers.families.registry import OwnForms

FORMS_HELP = """
List the built-in families and their forms, or show one: what it asks for, its knobs, an example.

`binary`, `code`, `mixed`, `parity` and `simulated` are drawn from only where they are named. Names ignore case, \
spaces and hyphens.

\b
Examples:
  learnable forms
  learnable forms sonnet
  learnable forms arithmetic
  learnable forms --forms my_forms.toml lantern
"""

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME", help="A form or a family.", autocompletion=options.complete_form_or_family, show_default=False
    ),
]


def forms(name: Name = None, forms_file: options.FormsFile = None, as_json: options.AsJson = False) -> None:
    """List the built-in families and their forms, or show one of them."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.verifiers.families.registry import load_forms

        own = load_forms(forms_file)
        if name is None:
            show_all(shell, own)
        else:
            show_one(shell, name, own)


def show_all(shell: Shell, own: OwnForms) -> None:
    """Show every family with its forms and knobs, a user's own forms last."""
    from learnable.verifiers.families.registry import find_form_reader, list_families

    listed = [_list_family(family, family.known_forms()) for family in list_families()]
    if own:
        listed.append(_list_family(find_form_reader(), own))
    if shell.as_json:
        shell.dump(listed)
        return
    for place, family in enumerate(listed):
        if place:
            shell.line("")
        label = "your own" if own and place == len(listed) - 1 else str(family["family"])
        print_text(shell.out, ", ".join(family["forms"]), label)
        print_text(shell.out, ", ".join(family["knobs"]), "  knobs")
    shell.line("\nnext         learnable forms NAME")


def _list_family(family: Family, forms: Iterable[str]) -> JsonObject:
    return {"family": family.name, "forms": list(forms), "knobs": list(family.knob_names())}


def show_one(shell: Shell, name: str, own: OwnForms) -> None:
    """Show a form or a family. Raises `UnknownNameError` with the nearest names."""
    from learnable.verifiers.families.registry import find_family_or_form

    family, form = find_family_or_form(name, own)
    account = describe_form(family, form) if form else describe_family(family)
    if shell.as_json:
        shell.dump(account.to_json())
        return
    for label, text in account.facts():
        print_text(shell.out, text, label)


@dataclass(frozen=True, slots=True)
class Account:
    """What there is to say of a family, or of its `form`; `declared` is that form's declaration where it has one.

    `forms` are a family's. `example` is None for a form without a reward, which no prompt asks for.
    """

    family: Family
    example: Prompt | None
    form: str = ""
    aliases: Sequence[str] = ()
    declared: DeclaredForm | None = None
    forms: Sequence[str] = ()

    def to_json(self) -> JsonObject:
        """Return the account as `--json` prints it."""
        named: JsonObject = {"form": self.form} if self.form else {"forms": list(self.forms)}
        account = {"family": self.family.name, **named, **self._declaration()}
        if self.example is None:
            return account
        spec = dict(self.example.spec)
        example = {"prompt": self.example.text, "verifier": self.example.verifier, "spec": spec}
        return account | {
            "knobs": self.family.knob_defaults(),
            "knobs_mean": _knobs_mean(self.family),
            "knob_ranges": {
                knob.name: [knob.low, knob.high] for knob in self.family.list_knobs() if knob.low is not None
            },
            "example": example,
        }

    def _declaration(self) -> JsonObject:
        if (declared := self.declared) is None:
            return {"aliases": list(self.aliases)} if self.form else {}
        return {
            "title": declared.title,
            "aliases": list(self.aliases),
            "check": declared.check,
            "why": declared.why,
            "asks_for": self.family.list_rules(declared),
            "declaration": dict(declared.declaration()),
        }

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what is said on a terminal, each fact with its label."""
        if self.form:
            title = f" ({self.declared.title})" if self.declared else ""
            yield self.form, f"a form of {self.family.name}{title}"
            yield from self._form_facts()
        else:
            yield self.family.name, ", ".join(self.forms)
        if self.example is None:
            return
        if knobs := self.family.list_knobs():
            yield "knobs", ", ".join(map(_say_knob, knobs))
            yield " ", _knobs_mean(self.family)
        yield "example", self.example.text
        spec = json.dumps(dict(self.example.spec), ensure_ascii=False)
        yield "judged with", f"{self.example.verifier} {shorten(spec)}"

    def _form_facts(self) -> Iterator[tuple[str, str]]:
        if self.aliases:
            yield "also", ", ".join(self.aliases)
        if (declared := self.declared) is None:
            return
        if declared.check == "theme":
            yield "no reward", declared.why
        if declared.check == "proxy":
            yield "judged by", "what can be checked, which is not all that makes the form"
        for number, rule in enumerate(self.family.list_rules(declared)):
            yield " " if number else "asks for", rule
        yield "declared", write_toml(self.form, dict(declared.declaration()))


def describe_family(family: Family) -> Account:
    """Return what there is to say of a family."""
    from learnable.verifiers.families.prompts import example_prompt

    return Account(family, example_prompt(family, family.forms[0]), forms=list(family.known_forms()))


def describe_form(family: Family, name: str) -> Account:
    """Return what there is to say of a form: what a declared form asks for and how it is declared, and an example."""
    from learnable.verifiers.families.prompts import example_prompt

    declared = family.find_declared(name)
    aliases = declared.aliases if declared else [alias for alias, form in family.aliases.items() if form == name]
    example = example_prompt(family, name) if declared is None or declared.is_reward else None
    return Account(family, example, name, aliases, declared)


def write_toml(name: str, declaration: JsonObject) -> str:
    """Return a declaration as a user's file would have it.

    >>> print(write_toml("Lantern", {"syllables": [1, 2], "total": {"words": 9}, "radif": True}))
    [Lantern]
    syllables = [1, 2]
    total = { words = 9 }
    radif = true
    """
    return "\n".join([f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in declaration.items())])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _say_knob(knob: Knob) -> str:
    limits = "" if knob.low is None else f" ({knob.low:,} to {knob.high:,})"
    return f"{knob.name}={knob.default}{limits}"


def _knobs_mean(family: Family) -> str:
    text = " ".join(inspect.cleandoc(family.knobs.__doc__ or "").replace("`", "").split())
    return text.partition(" Raises ")[0]  # what follows is for programmers
