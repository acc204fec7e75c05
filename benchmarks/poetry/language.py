"""Does human verse read as language, and does every kind of salad not?

Models learned on one half of the authors judge the other half, so no poem is judged by a model that has seen its author
(Shakespeare's sonnets and Lear's limericks are halved by poem). Salads are made of the poems of each form. A row gives
the mean language score, the share that passes as language, the share that passes everything, and how often a human
poem of that form reads better than the text (AUC). Verse of today, written for this and never learned from
(`verse_of_today.jsonl`), is judged in the same way, haiku by themselves. Then the same of the first two and four lines
of the old verse, where `language` is what to read: a part of a poem is no poem of its form.

    python -m benchmarks.poetry.language [--poems 60] [--seed 1616] [--completions FILE] [--json FILE]
"""

from __future__ import annotations

import json
import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean

from benchmarks.figures import make_parser, write_figures
from benchmarks.poetry.data import STANZAS, form_poems, rows, stanzas, write_scheme
from benchmarks.poetry.other_salads import make_other_salads
from benchmarks.poetry.run import DATA
from benchmarks.poetry.salads import Pantry, make_salads
from learnable.data.records import Spec
from learnable.verifiers.poetry.bounds import LANGUAGE
from learnable.verifiers.poetry.constraints.language import may_be_alike
from learnable.verifiers.poetry.forms import find_form
from learnable.verifiers.poetry.judge import find_needed_share
from learnable.verifiers.poetry.language.model import LanguageModel
from learnable.verifiers.poetry.language.reading import LanguageReading, read_language
from learnable.verifiers.poetry.language.training.corpus import (
    Verse,
    assign_halves,
    pick_half,
    read_own_verse,
    read_quoted_verse,
    read_verse,
)
from learnable.verifiers.poetry.language.training.dictionary import Words
from learnable.verifiers.poetry.language.training.learning import NONSENSE_WEIGHT, SEED, learn_model
from learnable.verifiers.poetry.language.training.packaged import PackagedTexts, add_text_options, read_packaged
from learnable.verifiers.poetry.language.training.prose import read_docstrings, read_prose, read_sentences
from learnable.verifiers.poetry.poem import read_line, read_poem_line
from learnable.verifiers.poetry.verifier import examine

HUMAN, REORDERED = "human", "lines in another order"
COLLECTED = "collected poems"  # by another verifier; some are salads themselves
TODAY = "verse of today"
VERSE_OF_TODAY = Path(__file__).with_name("verse_of_today.jsonl")
PROSE_FORMS = ("BlankVerse", "HeroicCouplet", "Sonnet")
PROSE_LINES = 14
BEGINNINGS = (2, 4)  # lines
PROSE = 60_000  # pieces to cut from
Lines = list[str]


@dataclass(frozen=True, slots=True)
class Text:
    """A poem's lines, the form it is in, and the half of the authors whose model may judge it.

    `table` is where its row is, if not in that of its form.
    """

    form: str
    lines: Lines
    judge: int
    table: str = ""


@dataclass(slots=True)
class Tally:
    """What was found of one kind of text in one form."""

    scores: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    reads: list[bool] = field(default_factory=list)
    passes: list[bool] = field(default_factory=list)

    def add(self, reading: LanguageReading, needed: float, others_pass: bool) -> None:
        """Add one text, the share of language that its form needs, and whether all but its language passes."""
        self.scores.append(reading.earn(needed))
        self.margins.append(min(reading.margin, reading.variety - 0.5))
        self.reads.append(reading.strict >= needed)
        self.passes.append(self.reads[-1] and others_pass)

    def extend(self, other: Tally) -> None:
        """Add the texts of another."""
        self.scores += other.scores
        self.margins += other.margins
        self.reads += other.reads
        self.passes += other.passes

    def figures(self, human: Tally) -> dict[str, float]:
        """Return the row of the table."""
        better, size = sorted(human.margins), max(1, len(human.margins))
        aucs = [1 - (bisect_left(better, m) + bisect_right(better, m)) / 2 / size for m in self.margins]
        return {
            "texts": len(self.scores),
            "score": fmean(self.scores),
            "language": fmean(self.reads),
            "all": fmean(self.passes),
            "auc": fmean(aucs),
        }


def read_texts(data: Path, halves: dict[str, int]) -> Iterator[Text]:
    """Yield the human poems of the named forms, each with the half that it is not in."""
    for name, form in (("shakespeare_sonnets", "ShakespeareanSonnet"), ("limericks", "Limerick")):
        for index, row in enumerate(rows(data / f"{name}.jsonl")):
            yield Text(form, row["lines"], 1 - halves[f"{name} {index % 2}"])
    named = {scheme: form for form, scheme in STANZAS.items()}
    for stanza in stanzas(data):
        if stanza_form := named.get(write_scheme(stanza.scheme)):
            yield Text(stanza_form, stanza.lines, 1 - halves[stanza.period])
    for index, (form, lines) in enumerate(form_poems(data)):
        if find_form(form).is_reward:
            yield Text(form, [line for line in lines if line], 1 - halves[f"form_poems {index % 2}"], COLLECTED)
    for index, row in enumerate(rows(VERSE_OF_TODAY)):
        yield Text(row["form"], row["lines"], index % 2, f"{TODAY}: haiku" if row["form"] == "Haiku" else TODAY)


def sample(texts: Sequence[Text], count: int, chance: random.Random) -> list[Text]:
    """Return at most `count` texts of each form in each table."""
    by_form: defaultdict[tuple[str, str], list[Text]] = defaultdict(list)
    for text in texts:
        by_form[text.table, text.form].append(text)
    return [one for found in by_form.values() for one in chance.sample(found, min(count, len(found)))]


def judge(lines: Sequence[str], spec: Spec, model: LanguageModel) -> tuple[LanguageReading, float, bool]:
    """Return how the lines read by this model, what their form needs, and whether all else about the poem passes."""
    found = examine("\n".join(lines), "", spec)
    if found is None:
        return read_language([], model=model), LANGUAGE.needed, False
    case = found.judgement.case
    reading = read_language([line.words for line in case.poem.lines], may_be_alike(case.form), model)
    needed = find_needed_share(case.form, "language", case.plan.size)
    return reading, needed, not [reason for reason in found.failures if not reason.startswith("language")]


def measure(texts: Sequence[Text], models: Sequence[LanguageModel], seed: int) -> dict[str, dict[str, Tally]]:
    """Return what is found of the human poems and their salads, by table and kind."""
    found: defaultdict[str, defaultdict[str, Tally]] = defaultdict(partial(defaultdict, Tally))
    chance = random.Random(seed)
    pantries = [fill_pantry([text for text in texts if text.judge == half]) for half in (0, 1)]
    for text in texts:
        kinds = {HUMAN: text.lines, REORDERED: chance.sample(text.lines, len(text.lines))}
        pantry = pantries[text.judge]
        kinds |= make_salads(pantry, text.lines, chance) | make_other_salads(pantry, text.lines, chance)
        for kind, lines in kinds.items():
            found[text.table or text.form][kind].add(*judge(lines, {"form": text.form}, models[text.judge]))
    return {table: dict(kinds) for table, kinds in found.items()}


def merge(forms: Sequence[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Return what is found of each kind of text in all the forms together."""
    every: defaultdict[str, Tally] = defaultdict(Tally)
    for kinds in forms:
        for kind, tally in kinds.items():
            every[kind].extend(tally)
    return dict(every)


def fill_pantry(texts: Sequence[Text]) -> Pantry:
    """Return what salads are made of, from these texts."""
    lines = tuple(words for text in texts for line in text.lines if (words := read_line(line).words))
    return Pantry(tuple(word for line in lines for word in line), lines)


def cut_prose(prose: Sequence[Words], count: int) -> list[Lines]:
    """Return texts of prose in lines of nine to eleven syllables, cut where they come to ten."""
    texts: list[Lines] = []
    lines: Lines = []
    line: list[str] = []
    for words in prose:
        for word in words:
            line.append(word)
            if max(read_poem_line(" ".join(line)).counts) >= 10:
                lines.append(" ".join(line))
                line = []
        if len(lines) >= PROSE_LINES:
            texts.append(lines[:PROSE_LINES])
            lines = []
        if len(texts) == count:
            break
    return texts


def judge_completions(path: Path, models: Sequence[LanguageModel]) -> dict[str, dict[str, Tally]]:
    """Return what is found of a policy's completions: JSON lines with `spec` and `completion`."""
    found: defaultdict[str, dict[str, Tally]] = defaultdict(dict)
    for index, row in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines())):
        row_of = found[row["spec"]["form"]].setdefault("completions", Tally())
        row_of.add(*judge(row["completion"].splitlines(), row["spec"], models[index % 2]))
    return dict(found)


def learn_halves(data: Path, packaged: PackagedTexts, nonsense: float) -> tuple[list[LanguageModel], dict[str, int]]:
    """Return the models of the two halves, and the half of each author; see `learn_model` for `nonsense`."""
    verse: list[Verse] = [*read_verse(data), *read_own_verse()]
    quoted, prose = [*read_quoted_verse(packaged.dictionary)], read_prose(packaged.dictionary, random.Random(SEED))
    learned = [pick_half(verse, quoted, half) for half in (0, 1)]
    learn = partial(learn_model, prose=prose, sentences=read_sentences(packaged), nonsense=nonsense)
    with ProcessPoolExecutor(len(learned)) as processes:
        return [*processes.map(learn, learned)], assign_halves(verse)


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--poems", type=int, default=60, help="human poems of each form (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1616, help="seed of poems and salads (default: %(default)s)")
    parser.add_argument("--nonsense", type=float, default=NONSENSE_WEIGHT, help="as in training (default: %(default)s)")
    add_text_options(parser)
    parser.add_argument("--completions", type=Path, help="also judge a policy's completions (spec, completion)")
    options = parser.parse_args()
    if not DATA.is_dir():
        parser.exit(0, f"no public verse in {DATA}: set LEARNABLE_DATA\n")
    models, halves = learn_halves(DATA, read_packaged(options), options.nonsense)
    texts = sample([*read_texts(DATA, halves)], options.poems, random.Random(options.seed))
    found = measure(texts, models, options.seed)
    whole = [text for text in texts if not text.table]
    for size in BEGINNINGS:
        begun = measure([replace(text, lines=text.lines[:size]) for text in whole], models, options.seed)
        found[f"the first {size} lines"] = merge([*begun.values()])
    found["prose"] = {form: Tally() for form in PROSE_FORMS}
    for lines in cut_prose(read_docstrings(random.Random(options.seed), PROSE), options.poems):
        for form in PROSE_FORMS:
            found["prose"][form].add(*judge(lines, {"form": form}, models[0]))
    if options.completions:
        found |= {f"policy: {form}": kinds for form, kinds in judge_completions(options.completions, models).items()}
    figures = {
        form: {kind: tally.figures(kinds.get(HUMAN, tally)) for kind, tally in kinds.items()}
        for form, kinds in found.items()
    }
    for form, kinds in figures.items():
        print(f"{form:34} {'texts':>6} {'score':>6} {'lang.':>6} {'all':>6} {'auc':>6}")
        for kind, row in kinds.items():
            values = " ".join(f"{row[name]:6.3f}" for name in ("score", "language", "all", "auc"))
            print(f"  {kind:32} {row['texts']:6.0f} {values}")
    write_figures(options.json, figures)


if __name__ == "__main__":
    main()
