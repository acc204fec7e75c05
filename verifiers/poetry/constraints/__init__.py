"""The constraints that a form's declaration may set, by the name of their component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from learnable.verifiers.poetry.bounds import LANGUAGE
from learnable.verifiers.poetry.constraints import lengths, letters, repetition, rhymes, sounds, wording
from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.constraints.language import judge_language
from learnable.verifiers.poetry.constraints.special import SPECIAL
from learnable.verifiers.poetry.forms import Form
from learnable.verifiers.poetry.forms.plan import FormPlan


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule: how it judges, which forms have it, its weight in the reward, and the strict share that a pass needs.

    `needs` is None where the share depends on the length of the form (`judge.find_needed_share`), and 0 where the
    constraint does not decide the pass. `varies` says that the result depends on the rhyme scheme of the plan.
    """

    judge: Callable[[PoemCase], Shares]
    applies: Callable[[Form, FormPlan], bool]
    weight: float = 2.0
    needs: float | None = 1.0
    varies: bool = False


def _declared(key: str) -> Callable[[Form, FormPlan], bool]:
    return lambda form, plan: bool(getattr(form, key))


def _special(name: str, measure: Callable[[PoemCase], float]) -> Constraint:
    return Constraint(lambda case: Shares.both(measure(case)), lambda form, plan: name in form.special)


CONSTRAINTS: dict[str, Constraint] = {
    "stanzas": Constraint(
        lengths.judge_stanzas, lambda form, plan: len(plan.stanzas) > 1 and not form.stichic, 0.25, 0.5
    ),
    "syllables": Constraint(lengths.judge_syllables, lambda form, plan: bool(plan.syllables), 2.0, None),
    "words": Constraint(lengths.judge_words, lambda form, plan: bool(plan.words)),
    "characters": Constraint(lengths.judge_characters, lambda form, plan: bool(plan.characters)),
    "metre": Constraint(sounds.judge_metre, _declared("metre"), 2.0, 0.5),
    "template": Constraint(sounds.judge_template, _declared("template"), 2.0, 0.6),
    "caesura": Constraint(lengths.judge_caesura, _declared("caesura"), 1.0, None),
    "end_syllables": Constraint(lengths.judge_end_syllables, _declared("end_syllables"), 1.0, None),
    "endings": Constraint(sounds.judge_endings, _declared("endings"), 1.0, 0.75),
    "shorter": Constraint(lengths.judge_shorter, _declared("shorter"), 1.0, 0.8),
    "even": Constraint(lengths.judge_even, _declared("even"), 1.0, None),
    "rhyme": Constraint(rhymes.judge_rhyme, lambda form, plan: plan.wanted > 0, 2.0, None, varies=True),
    "refrains": Constraint(repetition.judge_refrains, lambda form, plan: bool(plan.groups), 1.0, 0.9, varies=True),
    "rentrement": Constraint(
        repetition.judge_rentrement, lambda form, plan: bool(plan.rentrements), 1.0, 1.0, varies=True
    ),
    "end_words": Constraint(repetition.judge_end_words, _declared("end_words"), 2.0, 0.9),
    "envoi": Constraint(repetition.judge_envoi, _declared("envoi"), 0.5, 1.0),
    "radif": Constraint(rhymes.judge_radif, _declared("radif"), 1.0, 0.8, varies=True),
    "unrhymed": Constraint(rhymes.judge_unrhymed, _declared("unrhymed"), 1.0, 0.6),
    "runs": Constraint(rhymes.judge_runs, _declared("runs"), 2.0, 0.7),
    "links": Constraint(sounds.judge_links, _declared("links"), 2.0, 0.75),
    "alliteration": Constraint(sounds.judge_alliteration, _declared("alliteration"), 2.0, 0.7),
    "total": Constraint(lengths.judge_total, _declared("total")),
    "stanza_words": Constraint(lengths.judge_stanza_words, _declared("stanza_words")),
    "least_words": Constraint(lengths.judge_least_words, _declared("least_words"), 1.0),
    "least_content": Constraint(lengths.judge_least_content, _declared("least_content"), 1.0),
    "letters": Constraint(letters.judge_letters, _declared("letters")),
    "without": Constraint(letters.judge_without, _declared("without")),
    "vowel": Constraint(letters.judge_vowel, _declared("vowel")),
    "budget": Constraint(letters.judge_budget, _declared("budget")),
    "contains": Constraint(wording.judge_contains, _declared("contains")),
    "names": Constraint(wording.judge_names, _declared("names")),
    "starts": Constraint(wording.judge_starts, _declared("starts"), 1.0),
    "ends": Constraint(wording.judge_ends, _declared("ends"), 1.0),
    "same_start": Constraint(wording.judge_same_start, _declared("same_start"), 2.0, 0.75),
    "word_lengths": Constraint(wording.judge_word_lengths, _declared("word_lengths")),
    "word_syllables": Constraint(wording.judge_word_syllables, _declared("word_syllables")),
    "palindrome": Constraint(letters.judge_palindrome, _declared("palindrome")),
    "language": Constraint(judge_language, lambda form, plan: not form.no_language, 1.0, LANGUAGE.needed),
} | {name: _special(name, measure) for name, measure in SPECIAL.items()}

__all__ = ["CONSTRAINTS", "Constraint", "PoemCase", "Shares"]
