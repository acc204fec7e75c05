"""Prompts of families: a balanced selection, and how many problems there are in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.family import Family, Knobs, take_turns, unknown_knob
from learnable.verifiers.families.registry import ALL_FAMILIES, DEFAULT_FAMILIES, OwnForms, find_family, find_forms


def example_prompt(family: Family, form: str) -> Prompt:
    """Return a form's first prompt, as the usual knobs and seed 0 make it.

    Raises `LearnableError` for a form that has none.
    """
    prompt = next(family.generate(form, 0, family.knobs()), None)
    if prompt is None:
        raise LearnableError(f"form {form} has no prompt with its usual knobs")
    return prompt


def builtin_prompts(
    forms: Sequence[str] = (),
    families: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    knobs: Knobs | None = None,
    own: OwnForms | None = None,
) -> Iterator[Prompt]:
    """Yield distinct prompts of the named forms and of the named families, or of `DEFAULT_FAMILIES` when none is named.

    Families take turns, and inside a family its forms do, in an order that the seed draws, so every prefix is balanced;
    what runs dry leaves its turns to the others. A shorter draw of the same seed is the beginning of a longer one, and
    of families that count their problems each problem comes once before one comes in other words. `limit` is the total.

    `knobs` maps a knob's name (`largest`, or `arithmetic.largest` for one family alone) to its value. `own` are a
    user's declared forms by name; where no form is named, all of them are meant.

    Raises `UnknownNameError` for a family or form, and `LearnableError` for a knob, before the first prompt.
    """
    chosen = _choose(forms, families, knobs or {}, own or {})
    return islice(take_turns([choice.family.draw(choice.forms, seed, choice.knobs) for choice in chosen]), limit)


def count_problems(
    forms: Sequence[str] = (),
    families: Sequence[str] = (),
    knobs: Knobs | None = None,
    own: OwnForms | None = None,
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
    own: OwnForms | None = None,
) -> None:
    """Raise `LearnableError` where `limit` problems are wanted and there are fewer; it names the knobs to change."""
    count = count_problems(forms, families, knobs, own)
    if count is None or limit <= count:
        return
    ways = [way for choice in _choose(forms, families, knobs or {}, own or {}) for way in choice.ways_to_more()]
    advice = f"set {' or '.join(ways)}" if ways else "name more forms"
    raise LearnableError(
        f"this space has {count:,} distinct problems; you asked for {limit:,}: {advice}, or give `limit` {count}"
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
                    yield f"`knobs` {self.family.name}.{knob.name} {side} {now[knob.name]}"


def _choose(forms: Sequence[str], families: Sequence[str], knobs: Knobs, own: OwnForms) -> list[_Choice]:
    chosen: dict[str, list[str]] = {}
    forms = forms or tuple(own)
    named = [find_family(name) for name in families] or ([] if forms else list(DEFAULT_FAMILIES.values()))
    for family in named:
        chosen[family.name] = list(family.forms)
    for name, form in find_forms(forms, own):
        if form not in chosen.setdefault(name, []):
            chosen[name].append(form)
    settings = _settings(list(chosen), knobs)
    return [_Choice(ALL_FAMILIES[name].with_own(own), chosen[name], settings[name]) for name in chosen]


def _settings(families: Sequence[str], knobs: Knobs) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {name: {} for name in families}
    for full_name, value in knobs.items():
        owner, _, name = full_name.rpartition(".")
        takers = [f for f in families if name in ALL_FAMILIES[f].knob_names() and owner in ("", f)]
        if not takers:
            known = [
                k
                for f in families
                for k in (*ALL_FAMILIES[f].knob_names(), *(f"{f}.{k}" for k in ALL_FAMILIES[f].knob_names()))
            ]
            raise unknown_knob(f"the chosen prompts ({', '.join(families)})", full_name, known)
        for taker in takers:
            values[taker][name] = value
    return {name: ALL_FAMILIES[name].set_knobs(given) for name, given in values.items()}
