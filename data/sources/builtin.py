"""The built-in prompts: every family, how users name forms, and a balanced selection of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.forms import FORMS_LISTED_BY, Form, fold_name, poem_forms
from learnable.data.records import Prompt
from learnable.data.sources.code.bank import CODE
from learnable.data.sources.families.arithmetic import ARITHMETIC
from learnable.data.sources.families.binary import BINARY
from learnable.data.sources.families.comparison import COMPARISON
from learnable.data.sources.families.counting import COUNTING
from learnable.data.sources.families.mixed import MIXED
from learnable.data.sources.families.parity import PARITY
from learnable.data.sources.families.poetry import POETRY, generate_form
from learnable.data.sources.families.programs import PROGRAMS
from learnable.data.sources.families.simulated import SIMULATED
from learnable.data.sources.family import Family, Knobs, take_turns, unknown_knob

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (ARITHMETIC, COMPARISON, COUNTING, POETRY, PROGRAMS)
}
# In no default, only where they are named: what the bundled policy was not trained on, and what no model could answer.
ON_REQUEST: Mapping[str, Family] = {family.name: family for family in (BINARY, CODE, MIXED, PARITY, SIMULATED)}
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
    prompt = next(_with_own(family.name, own or {}).generate(form, 0, family.knobs()), None)
    if prompt is None:
        raise LearnableError(f"form {form} has no prompt with its usual knobs")
    return prompt


def _refuse_themes(names: Sequence[str], own: Mapping[str, Form]) -> None:
    for form in (own.get(name) or poem_forms()[name] for name in names):
        if not form.is_reward:
            raise LearnableError(f"form {form.name} ({form.title}) cannot be a reward: {form.why}")


def known_forms(family: Family) -> tuple[str, ...]:
    """Return the forms of a family that users may name: those drawn by default, and those on request."""
    more = poem_forms() if family.name == POETRY.name else family.on_request
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
    what runs dry leaves its turns to the others. A shorter draw of the same seed is the beginning of a longer one, and
    of families that count their problems each problem comes once before one comes in other words. `limit` is the total.

    `knobs` maps a knob's name (`largest`, or `arithmetic.largest` for one family alone) to its value. `own` are a
    user's poem forms by name; where no form is named, all of them are meant.

    Raises `UnknownNameError` for a family or form, and `LearnableError` for a knob, before the first prompt.
    """
    chosen = _choose(forms, families, knobs or {}, own or {})
    return islice(take_turns([choice.family.draw(choice.forms, seed, choice.knobs) for choice in chosen]), limit)


def count_problems(
    forms: Sequence[str] = (),
    families: Sequence[str] = (),
    knobs: Knobs | None = None,
    own: Mapping[str, Form] | None = None,
) -> int | None:
    """Return how many distinct problems the prompts so chosen have; None where a family of theirs does not count.

    The arguments are those of `builtin_prompts`. Raises `LearnableError` for what it refuses.
    """
    counts = [choice.count_problems() for choice in _choose(forms, families, knobs or {}, own or {})]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def require_problems(
    limit: int,
    forms: Sequence[str] = (),
    families: Sequence[str] = (),
    knobs: Knobs | None = None,
    own: Mapping[str, Form] | None = None,
) -> None:
    """Raise `LearnableError` where `limit` problems are wanted and there are fewer; it names the knobs to change."""
    count = count_problems(forms, families, knobs, own)
    if count is None or limit <= count:
        return
    ways = [way for choice in _choose(forms, families, knobs or {}, own or {}) for way in choice.ways_to_more()]
    advice = f"set {' or '.join(ways)}" if ways else "name more forms"
    raise LearnableError(
        f"this space has {count:,} distinct problems; you asked for {limit:,}: {advice}, or give --limit {count}"
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is drawn from one family."""

    family: Family
    forms: Sequence[str]
    knobs: Any

    def count_problems(self, **moved: float) -> int | None:
        """Return how many distinct problems there are, with some knobs elsewhere; None where that is not known."""
        if self.family.count is None:
            return None
        now = dict(zip(self.family.knob_names(), astuple(self.knobs), strict=True))
        return self.family.count(self.forms, self.family.set_knobs({**now, **moved}))

    def ways_to_more(self) -> Iterator[str]:
        """Yield how each knob is to be moved for there to be more problems, as their count tells."""
        now, count = dict(zip(self.family.knob_names(), astuple(self.knobs), strict=True)), self.count_problems()
        for knob in self.family.list_knobs():
            for bound, side in ((knob.low, "below"), (knob.high, "above")):
                if bound is not None and (self.count_problems(**{knob.name: bound}) or 0) > (count or 0):
                    yield f"--knob {self.family.name}.{knob.name} {side} {now[knob.name]}"


def _with_own(name: str, own: Mapping[str, Form]) -> Family:
    """Return the family called so, of which some forms may be a user's own."""

    def generate(form: str, seed: int, knobs: Any) -> Iterator[Prompt]:
        if form in own:
            return generate_form(own[form], seed, knobs, own=True)
        return POETRY.generate(form, seed, knobs)

    return replace(POETRY, generate=generate) if own and name == POETRY.name else _KNOWN[name]


def _form_names(own: Mapping[str, Form]) -> dict[str, tuple[str, str]]:
    return dict(_our_names()) | _poem_names(own)


@cache
def _our_names() -> dict[str, tuple[str, str]]:
    known = {}
    for family in _KNOWN.values():
        for alias, form in (*family.aliases.items(), *((form, form) for form in (*family.forms, *family.on_request))):
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


def _choose(forms: Sequence[str], families: Sequence[str], knobs: Knobs, own: Mapping[str, Form]) -> list[_Choice]:
    chosen: dict[str, list[str]] = {}
    forms = forms or tuple(own)
    named = [find_family(name) for name in families] or ([] if forms else list(FAMILIES.values()))
    for family in named:
        chosen[family.name] = list(family.forms)
    for name, form in find_forms(forms, own):
        if form not in chosen.setdefault(name, []):
            chosen[name].append(form)
    settings = _settings(list(chosen), knobs)
    return [_Choice(_with_own(name, own), chosen[name], settings[name]) for name in chosen]


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
