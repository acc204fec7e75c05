"""Poems: a smooth reward from the components of the form, and a pass that needs each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from learnable.data.records import Score, Spec
from learnable.verifiers.poetry.constraints.case import PoemCase
from learnable.verifiers.poetry.constraints.language import may_be_alike
from learnable.verifiers.poetry.extraction import extract_blocks
from learnable.verifiers.poetry.forms import form_of_spec
from learnable.verifiers.poetry.gate import measure_validity
from learnable.verifiers.poetry.judge import LANGUAGE_COMPONENT, Judge, PoemJudgement, find_needed_share
from learnable.verifiers.poetry.language.order import remark_on_order
from learnable.verifiers.poetry.poem import PoemLine, read_line, read_poem
from learnable.verifiers.poetry.sound.pronunciation import load_dictionary
from learnable.verifiers.poetry.spec import check_poetry_spec

MIN_VALIDITY = 0.9  # to pass
# Forms with one of these say no line twice running.
COUNTING_COMPONENTS = frozenset(["syllables", "words", "characters"])


@dataclass(frozen=True, slots=True)
class PoetryVerifier:
    """Judges whether a poem keeps its form.

    Spec: `{"form": name}` and, to override what the form declares, `lines`, `syllables`, `tolerance`, `schemes`,
    `stanzas` or its parameters (`docs/reference/poem-keys.md`). `declaration` gives a form of the user's own; `topic`
    gives words that should occur. Reward: the square of the weighted mean of the form's components, times `language`
    (do the lines read as sentences?) and the gate's validity, which is reported as `validity`. Passed: the exact
    number of lines, a validity of at least `MIN_VALIDITY`, every defining component at its share or more, language
    among them, a rhyme for every line that should rhyme, and no line twice except in a refrain. The topic earns
    reward but does not decide the pass: it is not part of the form.
    """

    name: str = "poetry"
    version: str = "12"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` or `UnknownNameError` for a spec that names no form or whose values do not fit together."""
        check_poetry_spec(spec)

    def warm_up(self) -> None:
        """Load the pronouncing dictionary."""
        load_dictionary()

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Return the score of one poem, by the best fit among the schemes that its form accepts."""
        examined = examine(completion, prompt, spec)
        if examined is None:
            return Score(0.0, False, {"lines": 0.0}, reason="no lines")
        components = examined.judgement.smooth | {"validity": examined.validity}
        reasons = [*examined.failures, *examined.remarks]
        return Score(examined.reward, not examined.failures, components, reason="; ".join(reasons))


@dataclass(frozen=True, slots=True)
class Examination:
    """What is found about a poem: its judgement on the best plan, its validity in [0, 1], and why it does not pass.

    `remarks` say what seems wrong and does not decide.
    """

    judgement: PoemJudgement
    validity: float
    failures: list[str]
    remarks: Sequence[str] = ()

    @property
    def reward(self) -> float:
        """The reward in [0, 1]. It is convex, since a linear one would give all nearly right poems .8 to .9."""
        language = self.judgement.smooth.get(LANGUAGE_COMPONENT, 1.0)
        return min(1.0, self.validity * language * self.judgement.mean() ** 2)


def examine(completion: str, prompt: str, spec: Spec) -> Examination | None:
    """Return what `score` is based on, or None where the completion has no line."""
    judge, keeps_first = _judge(json.dumps(dict(spec), sort_keys=True))
    poem = read_poem(extract_blocks(completion, keeps_first))
    if not poem.lines:
        return None
    judgement = judge.judge(poem)
    if "topic" in spec:
        judgement.smooth["topic"] = measure_topic_share(poem.lines, str(spec["topic"]))
    expected, returns = judgement.case.plan.size, count_returns(judgement.case)
    gate = measure_validity(poem.lines, returns, prompt, may_retell(judgement.case))
    failures = [] if len(poem.lines) == expected else [f"{len(poem.lines)} lines, not {expected}"]
    failures += _failures(judgement)
    copied = "rhyme" in judgement.strict and count_copies(poem.lines) > returns
    if copied or (not COUNTING_COMPONENTS.isdisjoint(judgement.strict) and says_twice_running(judgement.case)):
        failures.append("a line is said again where the form has no refrain")
    if gate < MIN_VALIDITY:
        failures.append(f"validity {gate:.2f} < {MIN_VALIDITY:g}")
    remark = remark_on_order([line.text for line in poem.lines]) if LANGUAGE_COMPONENT in judgement.strict else ""
    return Examination(judgement, gate, failures, [remark] if remark else ())


@lru_cache(maxsize=1024)
def _judge(spec_json: str) -> tuple[Judge, bool]:
    """Return the judge of a spec, and whether its poem may begin with a stanza of one line (which is then no title)."""
    form = form_of_spec(json.loads(spec_json))
    opening = form.opening.stanzas or (form.opening.part_lines(),) if form.opening else form.stanzas
    return Judge(form), bool(form.stanza_words) or opening[:1] == (1,) or form.line_count == 1


def _failures(judgement: PoemJudgement) -> list[str]:
    form, expected = judgement.case.form, judgement.case.plan.size
    shares = {name: find_needed_share(form, name, expected) for name in judgement.strict}
    failures = [
        f"{name} {value:.2f} < {shares[name]:g}"
        for name, value in judgement.strict.items()
        if value < shares[name] - 1e-9
    ]
    if shares.get("rhyme") and judgement.unanswered:
        failures.append(f"line {judgement.unanswered[0] + 1} rhymes with none")
    return failures


def count_returns(case: PoemCase) -> int:
    """Return how many lines the form lets return."""
    # In a form with a burden one line in four may return.
    return case.plan.returns + len(case.plan.rentrements) + (case.plan.size // 4 if case.form.burden else 0)


def may_retell(case: PoemCase) -> bool:
    """Whether the form lets lines have phrases of earlier ones."""
    return count_returns(case) > 0 or may_be_alike(case.form)


def count_copies(lines: Sequence[PoemLine]) -> int:
    """Return how many lines have exactly the words of an earlier line."""
    return len(lines) - len({line.words for line in lines})


def says_twice_running(case: PoemCase) -> bool:
    """Whether two neighbouring lines of the form are one and the same, and the form does not want it so."""
    return any(
        one is not None and other is not None and one.words == other.words and (slot, slot + 1) not in case.plan.grouped
        for slot, (one, other) in enumerate(pairwise(case.lines))
    )


def measure_topic_share(lines: Sequence[PoemLine], topic: str) -> float:
    """Return the share of the topic's words that are in the poem, plural and inflected forms included.

    >>> from learnable.verifiers.poetry.poem import read_poem_line
    >>> ships = [read_poem_line("The ships are sailing")]
    >>> measure_topic_share(ships, "a ship"), measure_topic_share(ships, "the sea")
    (1.0, 0.0)
    """
    present = {word for line in lines for word in line.words}
    wanted = [word for word in read_line(topic).words if word not in ("a", "an", "the", "of", "and", "in")]
    count = sum(any(word + ending in present for ending in ("", "s", "es", "'s", "ed", "ing")) for word in wanted)
    return count / len(wanted) if wanted else 1.0
