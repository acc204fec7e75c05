"""Write `docs/handbook.md`: for every form, which rules decide a pass, which earn reward only, which are not judged.

    python .ci/handbook_table.py

The first two come from the declarations (`verifiers/poetry/forms/*.toml`) and the shares that the judge needs;
the third is `docs/handbook.toml`. `tests/project/test_handbook_table.py` compares the page with what this writes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from learnable.verifiers.poetry.forms import Count, Form, constrain_form, poem_forms, span
from learnable.verifiers.poetry.forms.counts import MAX_COUNT, say_count, say_counts
from learnable.verifiers.poetry.forms.labels import say_scheme
from learnable.verifiers.poetry.forms.plan import Plan, plans
from learnable.verifiers.poetry.judge import Judge, find_needed_share

DOCS = Path(__file__).parents[1] / "docs"
EVERYWHERE = ("language", "stanzas")  # said once, above the table, but for a form with a share of its own
HEAD = """\
# What is judged of each form

Written by `python .ci/handbook_table.py` from the declarations and `docs/handbook.toml`; do not edit it here. The rules
are what handbooks of verse have in common, and what the inventors of a form ask for; where handbooks differ, each of
their rules is accepted. `tests/golden/forms/` has poems, written or chosen by those rules, that check the declarations.

- **Decides a pass**: the number of lines, and each component with the share of it that a pass needs. `docs/forms.md`
  says what the components mean. A rhyme scheme needs besides that every line rhymes with another of its class, and a
  form with rhymes that no line is said twice outside a refrain.
- **Reward only**: what raises or lowers the reward and decides no pass. Blank lines between stanzas are such a rule
  where a poem has none; wrong ones decide.
- **Not judged**: what handbooks say besides.
- `language` decides in every form but those marked *no language*, with 50% where a row names no other share.
"""


def write_page() -> str:
    """Return the page as text."""
    forms = sorted(poem_forms().values(), key=lambda form: (form.group, form.name))
    unjudged = read_unjudged()
    parts = [HEAD]
    for group, members in groupby(forms, key=lambda form: form.group):
        rows = [_row(form, unjudged[form.name]) for form in members]
        parts.append(
            f"## {group}\n\n| form | decides a pass | reward only | not judged |\n|---|---|---|---|\n" + "".join(rows)
        )
    return "\n".join(parts)


def read_unjudged() -> dict[str, str]:
    """Return for each form what is not judged. Raises `ValueError` unless each form of the tables has an answer."""
    table = tomllib.loads((DOCS / "handbook.toml").read_text(encoding="utf-8"))
    said: dict[str, list[str]] = {name: [] for name in poem_forms()}
    for entry in table["unjudged"]:
        for name in entry["forms"].split():
            said[name].append(entry["what"])
    for name in table["nothing_else"].split():
        if said[name]:
            raise ValueError(f"handbook.toml: {name} is among nothing_else and has an entry too")
        said[name].append("")
    if missing := [name for name, what in said.items() if not what]:
        raise ValueError(f"handbook.toml: nothing is said of {', '.join(missing)}")
    return {name: "; ".join(what) for name, what in said.items()}


def _row(form: Form, unjudged: str) -> str:
    if not form.is_reward:
        return f"| {form.name} | no reward | | {unjudged} |\n"
    form = constrain_form(form, {})
    decides, earns = _rules(form)
    lines = form.line_count
    size = [] if lines is None else [f"{lines} lines" if lines > 1 else "1 line"]
    if form.repeat is not None:
        size = [f"{_many(form.repeat)} units of {form.part_lines() or 'any number of'} lines"]
    elif lines is None and form.lines is not None:
        size = [f"{_many(form.lines)} lines"]
    decides = [*size, *decides, *(["*no language*"] if form.no_language else [])]
    return f"| {form.name} | {'; '.join(decides)} | {'; '.join(earns)} | {unjudged} |\n"


def _many(count: Count) -> str:
    low, high = span(count)
    return f"{low} or more" if high == MAX_COUNT else str(low) if low == high else f"{low} to {high}"


def _rules(form: Form) -> tuple[list[str], list[str]]:
    plan = _plan(form)
    decides, earns = [], []
    for name, _ in Judge(form).list_constraints(plan):
        if name in EVERYWHERE and name not in dict(form.defining):
            continue
        if needs := find_needed_share(form, name, plan.size):
            decides.append(f"{_say(form, name)} ({needs:.0%})")
        else:
            earns.append(_say(form, name))
    return decides, earns


def _plan(form: Form) -> Plan:
    """Return the plan of a poem as prompts ask for it."""
    parts = [part.part_lines() or 1 for part in (form.opening, form.closing) if part is not None]
    units = form.repeat_default or 1
    lines = form.line_count or sum(parts) + units * (form.part_lines() or span(form.lines or 4)[0])
    return plans(form, lines)[0]


def _say(form: Form, name: str) -> str:
    detail = "".join(_details(form, name))
    return f"{name.replace('_', ' ')} {detail}".strip().replace("|", "or")


def _details(form: Form, name: str) -> Iterator[str]:
    if name == "syllables":
        off = f" ±{form.tolerance}" if form.tolerance else ""
        measures = [form.syllables, *form.measures] if form.syllables else []
        yield " or ".join(say_counts(measure) + off for measure in measures)
        yield f" (to pass {say_counts(form.pass_syllables)})" if form.pass_syllables else ""
    elif name == "rhyme":
        shown = [say_scheme(scheme, form.stanzas) for scheme in (*form.schemes, *form.more_schemes)]
        yield ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
        yield "" if form.rhyme == "full" else f" ({form.rhyme})"
    elif name == "metre":
        yield form.metre + (f" {say_counts(tuple(form.feet))} feet" if form.feet else "")
    elif name in ("words", "characters", "stanza_words", "end_syllables"):
        yield say_counts(getattr(form, name))
    elif name in (
        "least_words",
        "least_content",
        "caesura",
        "alliteration",
        "same_start",
        "even",
        "runs",
        "word_syllables",
    ):
        yield say_count(getattr(form, name))
    elif name in ("shorter", "links", "template"):
        yield ", ".join(getattr(form, name))
    elif name == "endings":
        yield form.endings


def main() -> None:
    """Write the page."""
    (DOCS / "handbook.md").write_text(write_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
