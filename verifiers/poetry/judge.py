"""A poem against its form: the best fit among the ways the form may be filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from learnable.data.forms import Form
from learnable.data.forms.plan import Plan, plans
from learnable.verifiers.poetry.constraints import CONSTRAINTS, Case, Constraint, Result
from learnable.verifiers.poetry.constraints.rhymes import Pair, ends_of, heard_pairs, rhyme
from learnable.verifiers.poetry.placement import Slots, align
from learnable.verifiers.poetry.poem import Poem

LINES_WEIGHT = 1.0
TOPIC_WEIGHT = 0.5
MOST_EXACT = 10  # lines
SHORT = 6  # lines, up to which more must be right
# Of the rhymes of longer forms: older verse rhymes to the eye, and by sounds that have moved; no line may stand alone besides.
HALF_RHYMED = 0.5
MOST_LENGTHS = 64  # of poems, whose plans are kept
# A bare list of what a form looks for is no poem, however well it fits: what asks for more words multiplies.
FACTORS = frozenset(["least_words", "least_content"])


@dataclass(frozen=True, slots=True)
class Judgement:
    """Each component in [0, 1]: `smooth` for the reward, `strict` (hits only) for the pass. `heard`: which lines rhyme."""

    case: Case
    smooth: dict[str, float]
    strict: dict[str, float]
    heard: Sequence[Pair] = ()

    def mean(self) -> float:
        """Return the weighted mean of the smooth components, times those that are `FACTORS`."""
        total = weight = 0.0
        factor = 1.0
        for name, value in self.smooth.items():
            if name in FACTORS:
                factor *= value
            else:
                total += weight_of(name) * value
                weight += weight_of(name)
        return factor * total / weight


@dataclass
class Judge:
    """Judges poems of one form. Holds nothing of a poem between calls, only what follows from the form."""

    form: Form
    _plans: dict[int, tuple[tuple[Plan, tuple[tuple[str, Constraint], ...]], ...]] = field(default_factory=dict)

    def judge(self, poem: Poem) -> Judgement:
        """Return the best judgement over the plans that come nearest to the poem's number of lines."""
        return max(self._judgements(poem), key=lambda found: (found.mean(), min(found.strict.values(), default=0.0)))

    def _judgements(self, poem: Poem) -> Iterator[Judgement]:
        fixed: dict[tuple[tuple[int, ...], Slots], dict[str, Result]] = {}
        heard: dict[Slots, list[Pair]] = {}
        for plan, constraints in self._ways(len(poem.lines)):
            case = Case(self.form, plan, poem, align(poem, plan))
            shape = (plan.stanzas, case.slots)
            if shape not in fixed:
                fixed[shape] = {name: rule.judge(case) for name, rule in constraints if not rule.varies}
            results = dict(fixed[shape])
            for name, rule in constraints:
                if rule.varies:
                    results[name] = rhyme(case, self._heard(case, heard)) if name == "rhyme" else rule.judge(case)
            smooth = {"lines": min(plan.size, len(poem.lines)) / case.size}
            smooth |= {name: results[name][0] for name, _ in constraints}
            strict = {name: results[name][1] for name, _ in constraints}
            yield Judgement(case, smooth, strict, self._heard(case, heard) if "rhyme" in strict else ())

    def _heard(self, case: Case, known: dict[Slots, list[Pair]]) -> list[Pair]:
        """Return what is heard between lines: the same for every scheme, unless a radif moves the rhyme inward."""
        if self.form.radif or case.slots not in known:
            known[case.slots] = heard_pairs(ends_of(case), self.form.rhyme)
        return known[case.slots]

    def _ways(self, lines: int) -> tuple[tuple[Plan, tuple[tuple[str, Constraint], ...]], ...]:
        if lines not in self._plans:
            if len(self._plans) >= MOST_LENGTHS:
                self._plans.clear()
            self._plans[lines] = tuple((plan, self._constraints(plan)) for plan in plans(self.form, lines))
        return self._plans[lines]

    def _constraints(self, plan: Plan) -> tuple[tuple[str, Constraint], ...]:
        asked = self.form.requested
        return tuple(
            (name, rule)
            for name, rule in CONSTRAINTS.items()
            if rule.applies(self.form, plan) and (not asked or name in asked)
        )


def weight_of(component: str) -> float:
    """Return what a component weighs in the reward."""
    if component in CONSTRAINTS:
        return CONSTRAINTS[component].weight
    return TOPIC_WEIGHT if component == "topic" else LINES_WEIGHT


def needed_share(form: Form, component: str, lines: int) -> float:
    """Return the strict share of a component that a pass needs; 0 where it decides nothing."""
    default = CONSTRAINTS[component].needs
    if component == "syllables" and not form.tolerance and not form.schemes and lines <= MOST_EXACT:
        default = 1.0  # counting is all that such a form asks for
    if component == "rhyme" and lines > SHORT and form.name != "Verse":
        default = HALF_RHYMED
    if component == "rhyme" and form.rhyme == "none":
        default = 0.0
    return form.threshold(component, required_share(form, lines) if default is None else default)


def required_share(form: Form, lines: int) -> float:
    """Share of a form's lines and rhymes that must be right to pass, by its number of lines.

    Everything up to three lines, and in `Verse`, whose prompt spells each constraint out; .75 up to six
    lines; .6 beyond (of rhymes, see `HALF_RHYMED`).
    """
    if lines <= 3 or form.name == "Verse":
        return 1.0
    return 0.75 if lines <= SHORT else 0.6
