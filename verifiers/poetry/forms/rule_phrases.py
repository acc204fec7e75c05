"""One phrase of a prompt for each rule of a form beyond its shape, lengths, rhymes and metre."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from learnable.verifiers.poetry.forms.counts import say_count, say_counts, span
from learnable.verifiers.poetry.forms.form import Form
from learnable.verifiers.poetry.forms.labels import UNRHYMED, say_scheme

MINIMUM_RULES = ("least_words", "least_content")


def say_rules(form: Form, only: Collection[str] = ()) -> list[str]:
    """Return a phrase for each rule that the form has (of `only` these, where given), in a fixed order."""
    wanted = (_requested_keys(form) or set(_PHRASES)) & set(only or _PHRASES)
    phrases = [say(form) for key, say in _PHRASES.items() if key in wanted and getattr(form, key)]
    return [part for part in phrases if part]


def _requested_keys(form: Form) -> set[str]:
    """Return the keys whose rules the prompt states: the requested components, and the keys that belong to one."""
    keys = set(form.requested)
    if "rhyme" in keys:
        keys |= {"shared", "carry", "may_carry", "loop"}
    return keys | ({"special"} if keys.intersection(form.special) else set())


def _carry(form: Form) -> str:
    return ", ".join(
        f"rhyme {new} of each later stanza being "
        + ("that of the line before it" if old == "last" else f"rhyme {old} of the stanza before")
        for new, old in form.carry
    )


def _repeats(form: Form) -> str:
    return "repeating lines word for word (stanza.line): " + "; ".join(form.repeats)


def _end_words(form: Form) -> str:
    if all(len(token) > 1 for token in form.end_words):
        return f"whose lines end, in order, with the words of: {' '.join(form.end_words)}"
    order = say_scheme(form.end_words, _covered(form)).replace("/", " ")
    return f"whose lines end with the same words again in this order: {order}"


def _covered(form: Form) -> tuple[int, ...]:
    """Return the stanzas that the end words fill."""
    return next((s for s in (form.stanzas, form.stanzas[:-1]) if sum(s) == len(form.end_words)), ())


def _letters(form: Form) -> str:
    places = {
        "first": "first letters",
        "last": "last letters",
        "spine": "capital letters inside the lines",
        "end_word": "last words' first letters",
        "first_word": "first letters",
    }
    return "whose " + " and whose ".join(f"{places[place]} spell {text}" for place, text in form.letters)


def _total(form: Form) -> str:
    phrases = [
        "one sentence in all" if (what, count) == ("sentences", 1) else f"{say_count(count)} {what} in all"
        for what, count in form.total
    ]
    return "with " + " and ".join(phrases)


def _budget(form: Form) -> str:
    return "with " + " and ".join(
        f"{say_count(count)} " + ("vowels" if what == "vowels" else f"letters {what!r}") for what, count in form.budget
    )


def _names(form: Form) -> str:
    names = dict(form.names)
    kind = _KINDS.get(names["list"], f"word of {names['list']}")
    article = "exactly one" if names.get("most") == 1 else "a"
    again = " (each time another)" if names.get("distinct") else ""
    return f"each line naming {article} {kind}{again}" + (", in order" if names.get("in_order") else "")


def _word_lengths(form: Form) -> str:
    rule = form.word_lengths
    if rule and isinstance(rule[0], tuple) and isinstance(rule[0][0], str):
        named: dict[str, Any] = dict(rule)
        return f"of words whose lengths leave {named['rest']} when divided by {named['modulo']}"
    return f"of words of {say_counts(rule)} letters"  # type: ignore[arg-type]


def _palindrome(form: Form) -> str:
    return {
        "letters": "each line reading the same backwards, letter by letter",
        "words": "each line reading the same backwards, word by word",
        "poem": "the whole poem reading the same backwards, word by word",
    }[form.palindrome]


def _starts(form: Form) -> str:
    word = (
        "a question word, or a verb such as is, can or will"
        if form.starts == "questions"
        else f"a word of {form.starts}"
    )
    return f"each line starting with {word}"


def _special(form: Form) -> str:
    return ", ".join(_SPECIAL_PHRASES[name].format(**dict(form.parameters)) for name in form.special)


def _loop(form: Form) -> str:
    return ", ".join(f"rhyme {last} of the last stanza being rhyme {first} of the first" for last, first in form.loop)


def _kind_of_rhyme(form: Form) -> str:
    if all(label == UNRHYMED for scheme in form.schemes for label in scheme):
        return ""
    return {
        "assonance": "where it is enough that the vowels of the rhymes agree",
        "last": "where it is enough that the last syllables rhyme, stressed or not",
    }.get(form.rhyme, "")


def _end_syllables(form: Form) -> str:
    counts = form.end_syllables
    plural = "" if set(counts) == {1} else "s"
    return f"lines ending in words of {say_counts(counts)} syllable{plural}"


def _endings(form: Form) -> str:
    return f"lines ending on an unstressed syllable (f) or on a stressed one (m): {form.endings}"


def _may_carry(form: Form) -> str:
    carries = ", ".join(f"rhyme {new} of a stanza may be rhyme {old} of the one before" for new, old in form.may_carry)
    return f"{carries}, in all stanzas or in none"


_KINDS = {
    "elements": "chemical element", "spectrum": "colour of the rainbow", "numbers": "number", "time": "word of time",
    "absence": "word of absence",
}  # fmt: skip
_SPECIAL_PHRASES = {
    "adjacent_initials_differ": "no line opening with the same letter as the line before",
    "arithmetic": "the first line having two words, and each later line as many words as the line before it has vowels",
    "coprime": "neighbouring lines having word counts without a common divisor, and never the same count",
    "diamante": "a noun, two adjectives, three words in -ing, four nouns, three in -ing, two adjectives, another noun",
    "disjoint_letters": "each pair of lines sharing no letter",
    "dunadh": "the poem ending on the word or syllable it begins with",
    "long_word": "one line of the second stanza being a single word of six syllables",
    "positional": "character {number} of every line being the letter {letter}",
    "doubled_last_line": "the last line of each stanza being a phrase said twice",
    "often_rhymed": "most lines rhyming with a line near by",
    "ovillejo": "the last line being lines 2, 4 and 6 joined",
    "pindaric": (
        "in threes of stanzas: the first two of the same number of lines and the same rhymes, the third different"
    ),
    "pythagorean": "the word counts of each three lines being a Pythagorean triple",
    "rhopalic": "each word one syllable longer than the word before it in the line",
    "same_end_initial": "the last words of all lines sharing their first letter",
    "self_referential": "line n saying the number n exactly n times",
    "several_stanzas": "in at least three stanzas, not all alike",
    "unique_words": "no word used twice",
    "uniform_stanzas": "every stanza having the same number of lines and the same scheme",
    "person_name": "the first line ending with a person's name",
}
_PHRASES: dict[str, Callable[[Form], str]] = {
    "rhyme": _kind_of_rhyme,
    "shared": lambda form: f"with {' and '.join(form.shared)} the same rhyme{'s' * (len(form.shared) > 1)} throughout",
    "carry": _carry,
    "may_carry": _may_carry,
    "loop": _loop,
    "repeats": _repeats,
    "end_words": _end_words,
    "envoi": lambda form: f"the last lines holding all those words, {form.envoi} a line",
    "radif": lambda _: "the rhymed lines ending in the same word or phrase after the rhyme",
    "unrhymed": lambda _: "without end rhyme",
    "runs": lambda form: f"in runs of {say_count(form.runs or 1)} lines on one rhyme",
    "links": lambda form: "rhyming inside lines (stanza.line@syllable): " + "; ".join(form.links),
    "template": lambda form: f"with the stresses {' / '.join(form.template)} (- stressed, u unstressed, x either)",
    "caesura": lambda form: f"a word ending at syllable {form.caesura} of each line",
    "end_syllables": _end_syllables,
    "endings": _endings,
    "even": lambda _: "all lines of like length",
    "alliteration": lambda form: f"at least {form.alliteration} words of each line alliterating",
    "letters": _letters,
    "total": _total,
    "stanza_words": lambda form: f"of {say_counts(form.stanza_words)} words a stanza",
    "budget": _budget,
    "without": lambda form: f"without the letter {form.without}",
    "vowel": lambda form: f"with no vowel but {form.vowel}",
    "contains": lambda form: f"whose lines hold, in order, {', '.join(form.contains)}",
    "names": _names,
    "starts": _starts,
    "ends": lambda form: f"each line ending with {form.ends}",
    "same_start": lambda form: f"each line opening with the same {form.same_start} words and going on differently",
    "word_lengths": _word_lengths,
    "word_syllables": lambda form: f"of words of {say_count(form.word_syllables or 1)} syllable",
    "palindrome": _palindrome,
    "special": _special,
    "least_words": lambda form: f"at least {form.least_words} words a line",
    "least_content": lambda form: f"at least {span(form.least_content)[0]} words in all",
}
