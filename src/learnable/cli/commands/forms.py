"""`learnable forms`: the built-in families and their forms, or one of them rule by rule."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.terminal_text import print_text, shorten

if TYPE_CHECKING:
    from learnable.data.forms import Form
    from learnable.data.sources.families.family import Family

FORMS_HELP = """
List the built-in families and their forms, or show one: what it asks for, its knobs, an example.

`code` and `simulated` are drawn from only where they are named. Names ignore case, spaces and hyphens.

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
        from learnable.data.forms import load_forms

        own = load_forms(forms_file) if forms_file else {}
        if name is None:
            show_all(shell, own)
        else:
            show_one(shell, name, own)


def show_all(shell: Shell, own: Mapping[str, Form]) -> None:
    """Show every family with its forms and knobs, a user's own forms last."""
    from learnable.data.sources.builtin import FAMILIES, ON_REQUEST, known_forms

    families = {**FAMILIES, **ON_REQUEST}.values()
    listed = [{"family": f.name, "forms": list(known_forms(f)), "knobs": list(f.knob_names())} for f in families]
    if own:
        listed.append({"family": "poetry", "forms": list(own), "knobs": listed[3]["knobs"]})
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


def show_one(shell: Shell, name: str, own: Mapping[str, Form]) -> None:
    """Show a form or a family. Raises `UnknownNameError` with the nearest names."""
    from learnable.data.sources.builtin import find_family_or_form

    family, form = find_family_or_form(name, own)
    account = describe_form(family, form, own) if form else describe_family(family)
    if shell.as_json:
        shell.dump(account)
        return
    for label, text in tell(account):
        print_text(shell.out, text, label)


def describe_family(family: Family) -> dict[str, Any]:
    """Return what there is to say of a family."""
    from learnable.data.sources.builtin import example_prompt, known_forms

    return {"family": family.name, "forms": list(known_forms(family)), **_knobs(family)} | _example(
        example_prompt(family, family.forms[0])
    )


def describe_form(family: Family, name: str, own: Mapping[str, Form]) -> dict[str, Any]:
    """Return what there is to say of a form: what a poem form asks for and how it is declared, and an example."""
    from learnable.data.forms import poem_forms, requirements
    from learnable.data.sources.builtin import example_prompt

    account: dict[str, Any] = {"family": family.name, "form": name}
    poem = (own.get(name) or poem_forms().get(name)) if family.name == "poetry" else None
    if poem is None:
        account["aliases"] = [alias for alias, form in family.aliases.items() if form == name]
    else:
        account |= {"title": poem.title, "aliases": list(poem.aliases), "check": poem.check, "why": poem.why}
        account |= {"asks_for": requirements(poem), "declaration": poem.declaration()}
        if not poem.is_reward:
            return account
    return account | _knobs(family) | _example(example_prompt(family, name, own))


def tell(account: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is said of a form or family, each with its label."""
    if "form" in account:
        title = f" ({account['title']})" if "title" in account else ""
        yield account["form"], f"a form of {account['family']}{title}"
        yield from _tell_form(account)
    else:
        yield account["family"], ", ".join(account["forms"])
    if account.get("knobs"):
        yield "knobs", ", ".join(f"{name}={value}" for name, value in account["knobs"].items())
        yield " ", account["knobs_mean"]
    if "example" in account:
        yield "example", account["example"]["prompt"]
        spec = json.dumps(account["example"]["spec"], ensure_ascii=False)
        yield "judged with", f"{account['example']['verifier']} {shorten(spec)}"


def _tell_form(account: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if account["aliases"]:
        yield "also", ", ".join(account["aliases"])
    if account.get("check") == "theme":
        yield "no reward", account["why"]
    if account.get("check") == "proxy":
        yield "judged by", "what can be checked, which is not all that makes the form"
    for number, rule in enumerate(account.get("asks_for", ())):
        yield " " if number else "asks for", rule
    if "declaration" in account:
        yield "declared", write_toml(account["form"], account["declaration"])


def write_toml(name: str, declaration: Mapping[str, Any]) -> str:
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


def _knobs(family: Family) -> dict[str, Any]:
    defaults = family.knobs()
    meaning = " ".join(inspect.cleandoc(family.knobs.__doc__ or "").replace("`", "").split())
    return {"knobs": {name: getattr(defaults, name) for name in family.knob_names()}, "knobs_mean": meaning}


def _example(prompt: Any) -> dict[str, Any]:
    return {"example": {"prompt": prompt.text, "verifier": prompt.verifier, "spec": dict(prompt.spec)}}
