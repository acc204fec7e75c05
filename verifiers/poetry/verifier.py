"""Poems: a smooth reward from the parts of the form, and a pass that asks for each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnable.data.forms import Form, find_form
from learnable.data.records import Score, Spec
from learnable.verifiers.poetry.extraction import poem_lines
from learnable.verifiers.poetry.gate import validity
from learnable.verifiers.poetry.measure import Measures, measure
from learnable.verifiers.poetry.prosody import load_dictionary
from learnable.verifiers.poetry.spec import check_poetry_spec
from learnable.verifiers.poetry.words import Line, read_line

WEIGHTS = {"lines": 1.0, "syllables": 2.0, "rhyme": 2.0, "refrains": 1.0, "topic": 0.5}
MIN_VALIDITY = 0.9  # to pass


@dataclass(frozen=True, slots=True)
class PoetryVerifier:
    """Does a poem keep its form?

    Spec: `{"form": name}` and, to override what the form declares, `lines`, `syllables`, `tolerance`,
    `schemes`; `topic` asks that its words appear. Reward: the square of the weighted mean (`WEIGHTS`) of the
    components that the form has, times the gate's validity, which is reported as `validity`. Passed: exact line count, validity
    of at least `MIN_VALIDITY`, and syllables, rhyme and refrains each at least `required_share`. The topic
    earns reward but decides nothing: it is not part of the form.
    """

    name: str = "poetry"
    version: str = "2"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` or `UnknownNameError` for a spec that names no form or contradicts itself."""
        check_poetry_spec(spec)

    def warm_up(self) -> None:
        """Load the pronouncing dictionary."""
        load_dictionary()

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one poem: the best fit among the schemes its form accepts."""
        form = _form(json.dumps(dict(spec), sort_keys=True))
        lines = [read_line(line) for line in poem_lines(completion)]
        if not lines:
            return Score(0.0, False, {"lines": 0.0}, reason="no lines")
        results = [measure(lines, form, scheme) for scheme in form.schemes or [()]]
        best = max(results, key=lambda found: (_mean(found.smooth), min(found.strict.values(), default=0.0)))
        return _verdict(best, lines, form, spec)


def required_share(form: Form, lines: int) -> float:
    """Share of a form's lines and rhymes that must be right to pass, by its number of lines.

    Everything up to three lines, and in `Verse`, whose prompt spells each constraint out; .75 up to eight
    lines; .6 beyond.
    """
    if lines <= 3 or form.name == "Verse":
        return 1.0
    return 0.75 if lines <= 8 else 0.6


@lru_cache(maxsize=4096)
def _form(spec_json: str) -> Form:
    spec = json.loads(spec_json)
    return find_form(spec["form"]).constrained(spec)


def _verdict(best: Measures, lines: Sequence[Line], form: Form, spec: Spec) -> Score:
    smooth = dict(best.smooth)
    if "topic" in spec:
        smooth["topic"] = topic_share(lines, str(spec["topic"]))
    gate = validity(lines, best.refrain_returns)
    share = required_share(form, form.line_count or len(lines))
    failures = [f"{name} {value:.2f} < {share:g}" for name, value in best.strict.items() if value < share - 1e-9]
    if smooth["lines"] < 1.0:
        failures.insert(0, f"{len(lines)} lines, not {form.line_count}")
    if gate < MIN_VALIDITY:
        failures.append(f"validity {gate:.2f} < {MIN_VALIDITY:g}")
    # Convex, so that poems that are nearly right stay apart: a linear reward puts them all at .8 to .9.
    reward = min(1.0, gate * _mean(smooth) ** 2)
    return Score(reward, not failures, smooth | {"validity": gate}, reason="; ".join(failures))


def topic_share(lines: Sequence[Line], topic: str) -> float:
    """Return the share of the topic's words that the poem says, plural and inflected forms included.

    >>> topic_share([read_line("The ships are sailing")], "a ship"), topic_share([read_line("The sea")], "a ship")
    (1.0, 0.0)
    """
    said = {word for line in lines for word in line.words}
    asked = [word for word in read_line(topic).words if word not in ("a", "an", "the", "of", "and", "in")]
    found = sum(any(word + ending in said for ending in ("", "s", "es", "'s", "ed", "ing")) for word in asked)
    return found / len(asked) if asked else 1.0


def _mean(components: dict[str, float]) -> float:
    total = sum(WEIGHTS[name] for name in components)
    return sum(WEIGHTS[name] * value for name, value in components.items()) / total
