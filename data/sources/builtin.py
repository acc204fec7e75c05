"""The built-in prompts: every family, how users name forms, and a balanced selection of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.forms import FORMS_LISTED_BY, Form, fold_name, poem_forms
from learnable.data.records import Prompt
from learnable.data.sources.code.bank import CODE
from learnable.data.sources.drawing import hash_to_uniform
from learnable.data.sources.families.arithmetic import ARITHMETIC
from learnable.data.sources.families.comparison import COMPARISON
from learnable.data.sources.families.counting import COUNTING
from learnable.data.sources.families.poetry import POETRY, generate_form
from learnable.data.sources.families.programs import PROGRAMS
from learnable.data.sources.families.simulated import SIMULATED
from learnable.data.sources.family import Family, Knobs, take_turns, unknown_knob

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (ARITHMETIC, COMPARISON, COUNTING, POETRY, PROGRAMS)
}
# In no default, only where they are named: problems beyond the bundled policy, and what no model could answer.
ON_REQUEST: Mapping[str, Family] = {family.name: family for family in (CODE, SIMULATED)}
EVERY_FORM = "all"
_KNOWN: Mapping[str, Family] = {**FAMILIES, **ON_REQUEST}


def find_forms(names: Sequence[str], own: Mapping[str, Form] | None = None) -> list[tuple[str, str]]:
    """Return `(family, form)` for each name, in order and without repeats.

    Case, spaces, hyphens and underscores do not matter, and a name may be an alias. `all` is every poem form that can
    be a reward. `own` are a user's forms, which come before ours of the same name. Raises `UnknownNameError` with the
    nearest names, and `LearnableError` for a form that cannot be a reward.

    >>> find_forms(["shakespearean-sonnet", "fizz buzz"])
    [('poetry', 'ShakespeareanSonnet'), ('programs', 'FizzBuzz')]
    """
    known = _form_names(own or {})
    found: dict[tuple[str, str], None] = {}
    for name in names:
        if fold_name(name) == EVERY_FORM:
            found |= {("poetry", form.name): None for form in poem_forms().values() if form.is_reward}
            continue
        if fold_name(name) not in known:
            raise UnknownNameError("form", name, (form for _, form in known.values()), FORMS_LISTED_BY)
        found[known[fold_name(name)]] = None
    _refuse_themes([form for family, form in found if family == "poetry"], own or {})
    return list(found)


def find_family_or_form(name: str, own: Mapping[str, Form] | None = None) -> tuple[Family, str | None]:
    """Return the family called so and None, or else the family of the form called so and the form's name.

    `own` are a user's forms, which come first. Raises `UnknownNameError` with the nearest names.

    >>> [(family.name, form) for family, form in map(find_family_or_form, ("poetry", "fizz buzz"))]
    [('poetry', None), ('programs', 'FizzBuzz')]
    """
    forms, families = _form_names(own or {}), {fold_name(known): family for known, family in _KNOWN.items()}
    folded = fold_name(name)
    if folded in families and folded not in _form_names_of(own or {}):
        return families[folded], None
    if folded not in forms:
        known = [*(form for _, form in forms.values()), *_KNOWN]
        raise UnknownNameError("form or family", name, known, FORMS_LISTED_BY)
    family, form = forms[folded]
    return _KNOWN[family], form


def example_prompt(family: Family, form: str, own: Mapping[str, Form] | None = None) -> Prompt:
    """Return a form's first prompt, as the usual knobs and seed 0 make it.

    Raises `LearnableError` for a form that has none.
    """
    prompt = next(_generate(family.name, form, 0, family.knobs(), own or {}), None)
    if prompt is None:
        raise LearnableError(f"form {form} has no prompt with its usual knobs")
    return prompt


def _refuse_themes(names: Sequence[str], own: Mapping[str, Form]) -> None:
    for form in (own.get(name) or poem_forms()[name] for name in names):
        if not form.is_reward:
            raise LearnableError(f"form {form.name} ({form.title}) cannot be a reward: {form.why}")


def known_forms(family: Family) -> tuple[str, ...]:
    """Return the forms of a family that users may name: those drawn by default, and for poetry every other one."""
    more = poem_forms() if family.name == POETRY.name else ()
    return tuple(dict.fromkeys([*family.forms, *more]))


def find_family(name: str) -> Family:
    """Return the family called `name`. Raises `UnknownNameError` with the nearest names."""
    by_fold = {fold_name(known): family for known, family in _KNOWN.items()}
    if (family := by_fold.get(fold_name(name))) is None:
        raise UnknownNameError("family", name, _KNOWN)
    return family


def builtin_prompts(
    forms: Sequence[str] = (),
    families: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    knobs: Knobs | None = None,
    own: Mapping[str, Form] | None = None,
) -> Iterator[Prompt]:
    """Yield distinct prompts of the named forms and of the named families, or of all `FAMILIES` when none is named.

    Families take turns, and inside a family its forms do, in an order that the seed draws, so every prefix is balanced;
    what runs dry leaves its turns to the others. `limit` is the total. `knobs` maps a knob's name (`largest`, or
    `arithmetic.largest` for one family alone) to its value. `own` are a user's poem forms by name; where no form is
    named, all of them are meant.

    Raises `UnknownNameError` for a family or form, and `LearnableError` for a knob, before the first prompt.
    """
    own = own or {}
    chosen = _choose(forms or tuple(own), families, own)
    settings = _settings(list(chosen), knobs or {})
    streams = (
        take_turns([_generate(name, form, seed, settings[name], own) for form in _draw_forms(name, form_names, seed)])
        for name, form_names in chosen.items()
    )
    return islice(take_turns(list(streams)), limit)


def _generate(family: str, form: str, seed: int, knobs: Any, own: Mapping[str, Form]) -> Iterator[Prompt]:
    if family == POETRY.name and form in own:
        return generate_form(own[form], seed, knobs, own=True)
    return _KNOWN[family].generate(form, seed, knobs)


def _form_names(own: Mapping[str, Form]) -> dict[str, tuple[str, str]]:
    return dict(_our_names()) | _poem_names(own)


@cache
def _our_names() -> dict[str, tuple[str, str]]:
    known = {}
    for family in _KNOWN.values():
        for alias, form in (*family.aliases.items(), *((form, form) for form in family.forms)):
            known[fold_name(alias)] = (family.name, form)
    return known | _poem_names(poem_forms())


def _poem_names(poems: Mapping[str, Form]) -> dict[str, tuple[str, str]]:
    return {
        fold_name(alias): ("poetry", poem.name)
        for poem in poems.values()
        for alias in (*poem.aliases, poem.title, poem.name)
    }


def _form_names_of(own: Mapping[str, Form]) -> set[str]:
    return {fold_name(alias) for form in own.values() for alias in (*form.aliases, form.title, form.name)}


def _choose(forms: Sequence[str], families: Sequence[str], own: Mapping[str, Form]) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    named = [find_family(name) for name in families] or ([] if forms else list(FAMILIES.values()))
    for family in named:
        chosen[family.name] = list(family.forms)
    for name, form in find_forms(forms, own):
        if form not in chosen.setdefault(name, []):
            chosen[name].append(form)
    return chosen


def _settings(families: Sequence[str], knobs: Knobs) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {name: {} for name in families}
    for full_name, value in knobs.items():
        owner, _, name = full_name.rpartition(".")
        takers = [f for f in families if name in _KNOWN[f].knob_names() and owner in ("", f)]
        if not takers:
            known = [
                k for f in families for k in (*_KNOWN[f].knob_names(), *(f"{f}.{k}" for k in _KNOWN[f].knob_names()))
            ]
            raise unknown_knob(f"the chosen prompts ({', '.join(families)})", full_name, known)
        for taker in takers:
            values[taker][name] = value
    return {name: _KNOWN[name].set_knobs(given) for name, given in values.items()}


def _draw_forms(family: str, forms: Sequence[str], seed: int) -> list[str]:
    """Return the forms in the order of their turns: in that of the bank, topics and levels come one after another."""
    return sorted(forms, key=lambda form: hash_to_uniform(seed, "turns", family, form))
