"""The constraints a declaration may set, by the name of their component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from learnable.data.forms import Form
from learnable.data.forms.plan import Plan
from learnable.verifiers.poetry.constraints import lengths, letters, rhymes, sounds
from learnable.verifiers.poetry.constraints import lengths as line_shapes
from learnable.verifiers.poetry.constraints import lengths as stanzas
from learnable.verifiers.poetry.constraints import repetition as end_words
from learnable.verifiers.poetry.constraints import repetition as returns
from learnable.verifiers.poetry.constraints import wording as vocabulary
from learnable.verifiers.poetry.constraints import wording as word_shapes
from learnable.verifiers.poetry.constraints.case import Case, Result
from learnable.verifiers.poetry.constraints.special import SPECIAL


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule: which forms have it, how it judges, what it weighs in the reward and the share a pass needs.

    `needs` None stands for the share that the form's length asks for (`judge.required_share`); 0 decides nothing. A
    constraint that `varies` gives another value for another rhyme scheme.
    """

    judge: Callable[[Case], Result]
    applies: Callable[[Form, Plan], bool]
    weight: float = 2.0
    needs: float | None = 1.0
    varies: bool = False


def _declared(key: str) -> Callable[[Form, Plan], bool]:
    return lambda form, plan: bool(getattr(form, key))


def _special(name: str) -> Callable[[Case], Result]:
    def judge(case: Case) -> Result:
        share = SPECIAL[name](case)
        return share, share

    return judge


def _has_special(name: str) -> Callable[[Form, Plan], bool]:
    return lambda form, plan: name in form.special


CONSTRAINTS: dict[str, Constraint] = {
    "stanzas": Constraint(stanzas.stanzas, lambda form, plan: len(plan.stanzas) > 1 and not form.stichic, 0.25, 0.5),
    "syllables": Constraint(lengths.syllables, lambda form, plan: bool(plan.syllables), 2.0, None),
    "words": Constraint(lengths.words, lambda form, plan: bool(plan.words)),
    "characters": Constraint(lengths.characters, lambda form, plan: bool(plan.characters)),
    "metre": Constraint(sounds.metre, _declared("metre"), 1.0, 0.0),
    "template": Constraint(sounds.template, _declared("template"), 2.0, 0.6),
    "caesura": Constraint(line_shapes.caesura, _declared("caesura"), 1.0, None),
    "end_syllables": Constraint(line_shapes.end_syllables, _declared("end_syllables"), 1.0, None),
    "even": Constraint(line_shapes.even, _declared("even"), 1.0, None),
    "rhyme": Constraint(rhymes.rhyme, lambda form, plan: plan.wanted > 0, 2.0, None, varies=True),
    "refrains": Constraint(returns.refrains, lambda form, plan: bool(plan.groups), 1.0, 0.9, varies=True),
    "rentrement": Constraint(returns.rentrement, lambda form, plan: bool(plan.rentrements), 1.0, 1.0, varies=True),
    "end_words": Constraint(end_words.end_words, _declared("end_words"), 2.0, 0.9),
    "envoi": Constraint(end_words.envoi, _declared("envoi"), 0.5, 1.0),
    "radif": Constraint(rhymes.radif, _declared("radif"), 1.0, 0.8, varies=True),
    "unrhymed": Constraint(rhymes.unrhymed, _declared("unrhymed"), 1.0, 0.7),
    "runs": Constraint(rhymes.runs, _declared("runs"), 2.0, 0.7),
    "links": Constraint(sounds.links, _declared("links"), 2.0, 0.75),
    "alliteration": Constraint(sounds.alliteration, _declared("alliteration"), 2.0, 0.7),
    "total": Constraint(lengths.total, _declared("total")),
    "stanza_words": Constraint(lengths.stanza_words, _declared("stanza_words")),
    "least_words": Constraint(lengths.least_words, _declared("least_words"), 1.0),
    "least_content": Constraint(lengths.least_content, _declared("least_content"), 1.0),
    "letters": Constraint(letters.letters, _declared("letters")),
    "without": Constraint(letters.without, _declared("without")),
    "vowel": Constraint(letters.vowel, _declared("vowel")),
    "budget": Constraint(letters.budget, _declared("budget")),
    "contains": Constraint(vocabulary.contains, _declared("contains")),
    "names": Constraint(vocabulary.names, _declared("names")),
    "starts": Constraint(vocabulary.starts, _declared("starts"), 1.0),
    "ends": Constraint(vocabulary.ends, _declared("ends"), 1.0),
    "same_start": Constraint(vocabulary.same_start, _declared("same_start"), 2.0, 0.75),
    "word_lengths": Constraint(word_shapes.word_lengths, _declared("word_lengths")),
    "word_syllables": Constraint(word_shapes.word_syllables, _declared("word_syllables")),
    "palindrome": Constraint(word_shapes.palindrome, _declared("palindrome")),
} | {name: Constraint(_special(name), _has_special(name)) for name in SPECIAL}

__all__ = ["CONSTRAINTS", "Case", "Constraint", "Result"]
