"""A poem judged by its form: the best fit among the plans that the form allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from learnable.verifiers.poetry.constraints import CONSTRAINTS, Constraint, PoemCase, Shares
from learnable.verifiers.poetry.constraints.lengths import credit_syllables
from learnable.verifiers.poetry.constraints.rhymes import RhymePair, find_unanswered, hear_case, judge_rhyme
from learnable.verifiers.poetry.forms import Form
from learnable.verifiers.poetry.forms.plan import FormPlan, measured_plans
from learnable.verifiers.poetry.placement import Slots, place_lines
from learnable.verifiers.poetry.poem import Poem

SHORT_FORM = 6  # lines, up to which a larger share must be right
# Share of the rhymes of longer forms: older verse rhymes by spelling and by sounds that have changed. Besides, no line
# that should rhyme may be without one.
HALF_RHYMED = 0.5
# A bare list of the words that a form counts is not a poem, however well it fits. So these components multiply.
FACTORS = frozenset(["least_words", "least_content"])
LANGUAGE_COMPONENT = "language"  # multiplies the reward, outside the mean: it is the same on every plan
# Components that count whatever a prompt names.
ALWAYS = frozenset([LANGUAGE_COMPONENT])


@dataclass(frozen=True, slots=True)
class PoemJudgement:
    """The components of one poem on one plan, each in [0, 1]: `smooth` for the reward, `strict` for the pass.

    `heard` lists the lines whose ends rhyme or repeat each other, `unanswered` those that should rhyme but do not; both
    are empty where the form has no rhyme.
    """

    case: PoemCase
    smooth: dict[str, float]
    strict: dict[str, float]
    heard: Sequence[RhymePair] = ()
    unanswered: Sequence[int] = ()

    def mean(self) -> float:
        """Return the weighted mean of the smooth components but `language`, times those in `FACTORS`.

        Where rhyme decides the pass and does not reach what that needs, up to half is lost: metre and length alone
        make no sonnet.
        """
        total = weight = 0.0
        factor = 0.5 + 0.5 * self._reach("rhyme")
        for name, value in self.smooth.items():
            if name in FACTORS:
                factor *= value
            elif name != LANGUAGE_COMPONENT:
                share = find_weight(name)
                total += share * value
                weight += share
        return factor * total / weight

    def _reach(self, component: str) -> float:
        """Return which share of what a pass needs the component has; 1 where it decides no pass."""
        needed = find_needed_share(self.case.form, component, self.case.plan.size) if component in self.strict else 0.0
        return min(1.0, self.strict[component] / needed) if needed else 1.0


# A plan in each measure that the form may have, and its constraints.
_Way = tuple[tuple[FormPlan, ...], tuple[tuple[str, Constraint], ...]]


@dataclass
class Judge:
    """Judges poems of one form. Between calls it stores only what follows from the form."""

    form: Form
    _plans: dict[int, tuple[_Way, ...]] = field(default_factory=dict)
    _more: Judge | None = None  # by the form's further schemes

    def judge(self, poem: Poem) -> PoemJudgement:
        """Return the best judgement over the plans that are nearest to the poem's number of lines.

        The form's further schemes are tried where none of the usual ones passes though all lines rhyme.
        """
        best = _find_best(list(self._judgements(poem)))
        if not self.form.more_schemes or not self._may_keep_another(best):
            return best
        if self._more is None:
            self._more = Judge(replace(self.form, schemes=self.form.more_schemes, more_schemes=()))
        return _find_best([best, self._more.judge(poem)])

    def _may_keep_another(self, judgement: PoemJudgement) -> bool:
        rhymed = {line for pair in judgement.heard if pair.credit for line in (pair.first, pair.second)}
        if len(rhymed) < judgement.case.plan.size:
            return False
        needed = find_needed_share(self.form, "rhyme", judgement.case.plan.size)
        return judgement.strict.get("rhyme", 1.0) < needed or bool(judgement.unanswered)

    def _judgements(self, poem: Poem) -> Iterator[PoemJudgement]:
        fixed: dict[tuple[object, ...], dict[str, Shares]] = {}
        heard: dict[Slots, list[RhymePair]] = {}
        for measures, constraints in self._ways(len(poem.lines)):
            plan = find_measure(poem, measures, self.form.tolerance)
            case = PoemCase(self.form, plan, poem, place_lines(poem, plan))
            shape = (plan.stanzas, plan.syllables, case.slots)
            if shape not in fixed:
                fixed[shape] = {name: rule.judge(case) for name, rule in constraints if not rule.varies}
            results = dict(fixed[shape])
            pairs: Sequence[RhymePair] = ()
            unanswered: Sequence[int] = ()
            for name, rule in constraints:
                if name == "rhyme":
                    pairs = self._heard(case, heard)
                    unanswered = find_unanswered(case, pairs)
                    results[name] = judge_rhyme(case, pairs, unanswered)
                elif rule.varies:
                    results[name] = rule.judge(case)
            smooth = {"lines": min(plan.size, len(poem.lines)) / case.size}
            smooth |= {name: results[name].smooth for name, _ in constraints}
            strict = {name: results[name].strict for name, _ in constraints}
            yield PoemJudgement(case, smooth, strict, pairs, unanswered)

    def _heard(self, case: PoemCase, known: dict[Slots, list[RhymePair]]) -> list[RhymePair]:
        """Return what is heard between lines: the same for every scheme, unless a radif moves the rhymes inward."""
        if self.form.radif or case.slots not in known:
            known[case.slots] = hear_case(case)
        return known[case.slots]

    def _ways(self, lines: int) -> tuple[_Way, ...]:
        if lines not in self._plans:
            # Plans are stored for 64 lengths of poems.
            if len(self._plans) >= 64:
                self._plans.clear()
            self._plans[lines] = tuple((way, self.list_constraints(way[0])) for way in measured_plans(self.form, lines))
        return self._plans[lines]

    def list_constraints(self, plan: FormPlan) -> tuple[tuple[str, Constraint], ...]:
        """Return the constraints that a poem of this plan is judged by, with their names."""
        chosen = self.form.requested
        return tuple(
            (name, rule)
            for name, rule in CONSTRAINTS.items()
            if rule.applies(self.form, plan) and (not chosen or name in chosen or name in ALWAYS)
        )


def _find_best(judgements: Sequence[PoemJudgement]) -> PoemJudgement:
    return judgements[0] if len(judgements) == 1 else max(judgements, key=_rank)


def _rank(judgement: PoemJudgement) -> tuple[float, float]:
    return judgement.mean(), min(judgement.strict.values(), default=0.0)


def find_measure(poem: Poem, measures: Sequence[FormPlan], tolerance: int) -> FormPlan:
    """Return the plan, of those that differ in the lengths of their lines only, which most of the lines fit."""
    if len(measures) == 1:
        return measures[0]
    return max(measures, key=lambda plan: sum(_list_credits(poem, plan, tolerance)))


def _list_credits(poem: Poem, plan: FormPlan, tolerance: int) -> list[float]:
    return [
        credit_syllables(line, wanted, tolerance)
        for line, wanted in zip(poem.lines, plan.syllables, strict=False)
        if wanted is not None
    ]


def find_weight(component: str) -> float:
    """Return the weight of a component in the reward."""
    if component in CONSTRAINTS:
        return CONSTRAINTS[component].weight
    return 0.5 if component == "topic" else 1.0


def find_needed_share(form: Form, component: str, lines: int) -> float:
    """Return the strict share of a component that a pass needs; 0 where it does not decide the pass.

    `lines` is the number of lines of the form's plan.
    """
    default = CONSTRAINTS[component].needs
    # In a form of up to ten lines that counts syllables, every line must be right.
    if component == "syllables" and not form.tolerance and not form.schemes and lines <= 10:
        default = 1.0  # such a form has no rule but its counts
    if component == "rhyme" and lines > SHORT_FORM and form.name != "Verse":
        default = HALF_RHYMED
    if component == "rhyme" and form.rhyme == "none":
        default = 0.0
    return form.threshold(component, find_required_share(form, lines) if default is None else default)


def find_required_share(form: Form, lines: int) -> float:
    """Return the share of lines and rhymes that must be right to pass, by the form's number of lines.

    It is 1 up to three lines, and in `Verse`, whose prompt states each constraint; .75 up to six lines; .6 for more (of
    rhymes, see `HALF_RHYMED`).
    """
    if lines <= 3 or form.name == "Verse":
        return 1.0
    return 0.75 if lines <= SHORT_FORM else 0.6
