"""Why a poem has its score: what is heard in each line, what the form needs there, and what would raise the score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from learnable.data.records import JsonObject, Score, Spec
from learnable.verifiers.explanation import ScorePart, ShownLine, Styled
from learnable.verifiers.poetry.bounds import LANGUAGE, VALIDITY
from learnable.verifiers.poetry.constraints.case import PoemCase
from learnable.verifiers.poetry.constraints.language import credit_lines, find_wanted, read_case
from learnable.verifiers.poetry.constraints.lengths import credit_syllables
from learnable.verifiers.poetry.constraints.rhymes import hear_case
from learnable.verifiers.poetry.constraints.sounds import find_feet
from learnable.verifiers.poetry.constraints.sounds import read_case as read_metre_case
from learnable.verifiers.poetry.forms import Count, span
from learnable.verifiers.poetry.forms.plan import NO_RHYME, FormPlan
from learnable.verifiers.poetry.forms.wording import FEET_NAMES
from learnable.verifiers.poetry.gate import measure_retold
from learnable.verifiers.poetry.judge import LANGUAGE_COMPONENT, PoemJudgement, find_needed_share, find_weight
from learnable.verifiers.poetry.language.dialect import write_standard
from learnable.verifiers.poetry.language.model import load_model
from learnable.verifiers.poetry.language.reading import credit_line
from learnable.verifiers.poetry.language.sameness import find_template
from learnable.verifiers.poetry.metre.fit import name_rhythm
from learnable.verifiers.poetry.metre.scansion import place_marks, scan
from learnable.verifiers.poetry.poem import PoemLine
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, classify_rhyme
from learnable.verifiers.poetry.rhyme.schemes import infer_scheme
from learnable.verifiers.poetry.verifier import PoetryVerifier, examine, may_retell

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")
RIGHT, PARTLY, WRONG = "green", "yellow", "red"
SCHEME_LETTERS = "abcdefghijklmnopqrstuvwyz"
MULTIPLIED = ("validity", LANGUAGE_COMPONENT)  # with the mean of the others, so without a weight in it
TOLERATED = {LANGUAGE_COMPONENT: 0.0, "metre": 0.95}  # what human verse lacks too is not worth a hint where it passes
MANY_LOST = 3  # lines that read as no sentence, beyond which only the worst are named


@dataclass(frozen=True, slots=True)
class LineAccount:
    """What is heard in one line of the poem, and what the form needs there.

    `syllables` has every count that the line can have. `stress` has one mark per syllable (`+` stressed, `-` not),
    read in `metre`, the one that fits best. `rhyme` is the letter heard (`x`: no rhyme). `line` is the number, from
    1, of the form's line that this one stands for; None for an extra line. `wanted_syllables` and `wanted_rhyme` are
    None where the form leaves them open. `language` in [0, 1] says how much the line reads as one of verse; None where
    the form's lines need not. `kept` in [0, 1] says how well it keeps the form's metre, and `reads_as` what it reads as
    instead; None and empty where the form has no metre, or it is kept.
    """

    text: str
    syllables: tuple[int, ...]
    stress: str
    metre: str
    rhyme: str
    line: int | None
    wanted_syllables: str | None
    wanted_rhyme: str | None
    language: float | None = None
    kept: float | None = None
    reads_as: str = ""


@dataclass(frozen=True, slots=True)
class PoemExplanation:
    """A score explained. `blocks` has the number of lines of each stanza, `hints` say what would raise the reward."""

    form: str
    score: Score
    lines: tuple[LineAccount, ...]
    blocks: tuple[int, ...]
    parts: tuple[ScorePart, ...]
    hints: tuple[str, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """What the figures beside each line are."""
        metrical = any(line.kept is not None for line in self.lines)
        return ("syllables", "rhyme", *["metre"] * metrical, "reads")

    def list_lines(self) -> Iterator[ShownLine]:
        """Yield each line under its stress marks, with what `headings` say."""
        ends = {sum(self.blocks[: index + 1]) for index in range(len(self.blocks) - 1)}
        for number, line in enumerate(self.lines, 1):
            metre = [_show_share(line.kept)] * ("metre" in self.headings)
            figures = (_show_syllables(line), _show_rhyme(line), *metre, _show_share(line.language))
            yield ShownLine(line.text, place_marks(line.text, line.stress), figures, number in ends)

    def as_dict(self) -> JsonObject:
        """Return the explanation as plain data, for JSON."""
        score = self.score
        return {
            "form": self.form,
            "reward": score.reward,
            "passed": score.passed,
            "verdict": score.verdict,
            "reason": score.reason,
            "components": dict(score.components),
            "parts": [asdict(part) for part in self.parts],
            "hints": list(self.hints),
            "lines": [asdict(line) for line in self.lines],
        }


def _show_syllables(line: LineAccount) -> Styled:
    heard = "/".join(map(str, line.syllables[:3]))
    if line.wanted_syllables is None:
        return [(heard, "")]
    low, _, high = line.wanted_syllables.partition("-")
    inside = any(int(low) <= count <= int(high or low) for count in line.syllables)
    return [(heard, RIGHT)] if inside else [(heard, WRONG), (f" ({line.wanted_syllables})", "dim")]


def _show_rhyme(line: LineAccount) -> Styled:
    place = (ord(line.rhyme[0]) - ord("a")) % len(COLOURS)
    heard = (line.rhyme, "dim" if line.rhyme == "x" else COLOURS[place])
    return [heard] if line.wanted_rhyme in (None, line.rhyme) else [heard, (f" ({line.wanted_rhyme})", "dim")]


def _show_share(value: float | None) -> Styled:
    if value is None:
        return []
    return [(f"{value:.2f}", RIGHT if value >= 1 else PARTLY if value >= 0.5 else WRONG)]


def explain_poem(completion: str, spec: Spec, prompt: str = "") -> PoemExplanation:
    """Judge a poem as `PoetryVerifier` does, and return the reasons.

    Raises `SpecError` or `UnknownNameError` for a spec that cannot be used.
    """
    verifier = PoetryVerifier()
    verifier.check_spec(spec)
    score = verifier.score(completion, prompt=prompt, spec=spec)
    examined = examine(completion, prompt, spec)
    if examined is None:
        return PoemExplanation(str(spec["form"]), score, (), (), (), ("write a poem: no line has a letter in it",))
    case = examined.judgement.case
    parts = tuple(_list_parts(examined.judgement, score))
    # More than eight would not help.
    hints = (*tuple(_list_hints(case, parts))[:8], *examined.remarks)
    return PoemExplanation(
        case.form.name, score, tuple(_explain_lines(case, examined.judgement.smooth)), case.poem.blocks, parts, hints
    )


def _explain_lines(case: PoemCase, judged: Collection[str]) -> Iterator[LineAccount]:
    places = {index: slot for slot, index in enumerate(case.slots) if index is not None}
    heard = infer_scheme([line.end for line in case.poem.lines])
    wanted, credits = letter_rhymes(case.plan), credit_lines(case)
    kept = read_metre_case(case).credits if "metre" in judged else None
    for index, line in enumerate(case.poem.lines):
        scansion, slot = scan(line.words), places.get(index)
        count = case.plan.syllables[slot] if slot is not None and case.plan.syllables else None
        yield LineAccount(
            text=line.text,
            syllables=line.counts,
            stress=scansion.stress,
            metre=scansion.metre,
            rhyme=heard[index],
            line=None if slot is None else slot + 1,
            wanted_syllables=None if count is None else write_count(count, case.form.tolerance),
            wanted_rhyme=None if slot is None or not case.plan.wanted else wanted[slot],
            language=None if case.form.no_language else credits[index],
            kept=None if slot is None or kept is None else kept[slot],
            reads_as="" if slot is None or kept is None else name_departure(case, slot),
        )


def name_departure(case: PoemCase, slot: int) -> str:
    """Return what the line in a slot of the plan reads as where it does not keep the form's metre by itself."""
    line, fit = case.lines[slot], read_metre_case(case).lines[slot]
    if line is None or fit is None or fit.keeps:
        return ""
    return name_rhythm(line.words, case.form.metre, find_feet(case, slot))


def letter_rhymes(plan: FormPlan) -> list[str]:
    """Return the rhyme letter of each line of a plan, in order of first use; `x` for a line that needs no rhyme."""
    order = list(
        dict.fromkeys(number for number in plan.classes if number != NO_RHYME and plan.classes.count(number) > 1)
    )
    letters = {number: SCHEME_LETTERS[index % len(SCHEME_LETTERS)] for index, number in enumerate(order)}
    return [letters.get(number, "x") for number in plan.classes]


def write_count(count: Count, tolerance: int = 0) -> str:
    """Return a count with its tolerance as text.

    >>> write_count(8), write_count((7, 10)), write_count(10, 1)
    ('8', '7-10', '9-11')
    """
    low, high = span(count)
    low, high = max(low - tolerance, 0), high + tolerance
    return str(low) if low == high else f"{low}-{high}"


def _list_parts(judgement: PoemJudgement, score: Score) -> Iterator[ScorePart]:
    form, expected = judgement.case.form, judgement.case.plan.size
    for name, value in score.components.items():
        strict = judgement.strict.get(name)
        needs = find_needed_share(form, name, expected) if strict is not None else None
        yield ScorePart(name, value, 0.0 if name in MULTIPLIED else find_weight(name), strict, needs or None)


def _list_hints(case: PoemCase, parts: Sequence[ScorePart]) -> Iterator[str]:
    """Yield what would raise the reward, the most expensive faults first."""
    for part in sorted(parts, key=lambda part: (part.value - 1) * (part.weight or 4.0)):
        if part.value < 1 - 1e-9:
            hints = list(_HINTS[part.name](case)) if part.name in _HINTS else []
            if hints or part.fails or part.value < TOLERATED.get(part.name, 1.0):
                yield from hints or [_describe_share(part)]


def _describe_share(part: ScorePart) -> str:
    needed = f", {part.needs:.0%} needed to pass" if part.needs and part.fails else ""
    return f"{part.name.replace('_', ' ')}: {part.value:.0%} as the form asks{needed}"


def _missing_lines(case: PoemCase) -> Iterator[str]:
    have, wanted = len(case.poem.lines), case.plan.size
    if have != wanted:
        yield f"{have} lines, {wanted} wanted"


def _wrong_lengths(case: PoemCase) -> Iterator[str]:
    tolerance = case.form.tolerance
    for index, line, wanted in _placed(case, case.plan.syllables):
        if line.strange:
            yield f"line {index + 1}: a token that is not a word"
        elif credit_syllables(line, wanted, tolerance) < 1:
            yield f"line {index + 1}: {_either(line.counts)} syllables, {write_count(wanted, tolerance)} wanted"


def _missing_rhymes(case: PoemCase) -> Iterator[str]:
    plan = case.plan
    rhymed = {(pair.first, pair.second) for pair in hear_case(case) if pair.credit == FULL_RHYME}
    for one, other in combinations(range(plan.size), 2):
        first, second = case.slots[one], case.slots[other]
        if first is None or second is None or (one, other) in plan.grouped:
            continue
        if plan.classes[other] in plan.classes[one + 1 : other]:
            continue  # a nearer line of that class gives the same hint
        ends = (case.poem.lines[first].end, case.poem.lines[second].end)
        kind = classify_rhyme(*ends)
        alike = plan.classes[one] == plan.classes[other] != NO_RHYME
        if alike and (one, other) not in rhymed and (one, other) not in plan.excused:
            yield f"lines {first + 1} and {second + 1} should rhyme: {ends[0]!r} and {ends[1]!r}, {_KINDS[kind]}"


def _lost_refrains(case: PoemCase) -> Iterator[str]:
    for group in case.plan.groups:
        lines = [case.lines[slot] for slot in group]
        for slot, line in zip(group[1:], lines[1:], strict=True):
            if lines[0] is not None and (line is None or line.words != lines[0].words):
                yield f"line {slot + 1} should be line {group[0] + 1} again: {lines[0].text!r}"


def _no_sentences(case: PoemCase) -> Iterator[str]:
    words = [write_standard(line.words) for line in case.poem.lines]
    reading = read_case(case)
    wanting = reading.is_told and reading.whole < find_wanted(case.form)
    if reading.calm < 0.5:
        yield f"{reading.exclaimed:.0%} of the words are interjections: they read as filler"
    elif reading.variety < 0.5:
        yield f"the lines are one template with other words in it, such as {find_template(words)!r}"
    if wanting and reading.strangeness > LANGUAGE.usual_strangers:
        strangers = load_model().sense.list_strangers(words)
        yield f"{len(strangers)} words are hardly known, more than verse has, such as {strangers[0]!r}"
    credits = [credit_line(odds) if reading.is_told else 1.0 for odds in reading.odds]
    # What a line earns, with no leniency for few words, below which it reads as none: two in a hundred human lines do.
    lost = [index for index, credit in enumerate(credits) if credit < 0.5]
    if len(lost) > MANY_LOST:
        yield f"{len(lost)} of {len(credits)} lines read as no sentence of verse, least these:"
        lost = sorted(sorted(lost, key=lambda index: credits[index])[:MANY_LOST])
    elif wanting and (misplaced := load_model().sense.find_misplaced(words)):
        yield (
            f"line {misplaced.line + 1}: {misplaced.word!r} stands where {misplaced.better!r} would stand better: in "
            "most places other words would do as well, as in no sentence"
        )
    elif not lost and reading.strict < min(find_wanted(case.form), reading.variety):
        least = min(range(len(credits)), key=credits.__getitem__)
        yield f"line {least + 1}: reads least as a sentence of verse, of which the form needs more"
    for index in lost:
        weakest = load_model().neighbours.find_weakest(words[index])
        where = f", least at {' '.join(weakest)!r}" if weakest else ""
        yield f"line {index + 1}: reads as no sentence of verse{where}"


def _lost_metre(case: PoemCase) -> Iterator[str]:
    for slot, index in enumerate(case.slots):
        if index is not None and (rhythm := name_departure(case, slot)):
            yield f"line {index + 1}: not {_name_metre(case, slot)}; it reads as {rhythm}"


def _name_metre(case: PoemCase, slot: int) -> str:
    feet = find_feet(case, slot)
    return f"{case.form.metre} {FEET_NAMES[feet]}" if feet and feet < len(FEET_NAMES) else case.form.metre


def _weak_words(case: PoemCase) -> Iterator[str]:
    strange = sum(line.strange for line in case.poem.lines)
    repeated = len(case.poem.lines) - len({line.words for line in case.poem.lines})
    if strange:
        yield f"{strange} tokens are not words"
    if repeated > case.plan.returns:
        yield f"{repeated - case.plan.returns} lines are copies of others"
    retold = measure_retold(list(dict.fromkeys(line.words for line in case.poem.lines)))
    if retold > VALIDITY.new and not may_retell(case):
        yield f"{retold:.0%} of the words are phrases that earlier lines have"


def _placed(case: PoemCase, column: Sequence[Count | None]) -> Iterator[tuple[int, PoemLine, Count]]:
    """Yield each line of the poem for which the column has a count, with its index in the poem."""
    for slot, wanted in zip(case.slots, column, strict=False):
        if slot is not None and wanted is not None:
            yield slot, case.poem.lines[slot], wanted


def _either(counts: Sequence[int]) -> str:
    return " or ".join(map(str, counts)) if len(counts) < 3 else f"{counts[0]} to {counts[-1]}"


_HINTS = {
    "lines": _missing_lines,
    "syllables": _wrong_lengths,
    "rhyme": _missing_rhymes,
    "refrains": _lost_refrains,
    "metre": _lost_metre,
    "language": _no_sentences,
    "validity": _weak_words,
}
_KINDS = {
    "perfect": "a full rhyme",
    "identical": "the same word or sound",
    "family": "which rhyme nearly",
    "last": "which rhyme in an unstressed syllable",
    "eye": "which rhyme to the eye alone",
    "slant": "which only sound alike",
    "none": "which do not",
}
