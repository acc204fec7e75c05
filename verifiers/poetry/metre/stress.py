"""How strongly each syllable of a word tends to a beat, by the word's class and its stress in the dictionary.

Each syllable has one letter as its class. In words of several syllables: `P` main stress, `F` main stress of a
function word (into, over), `S` secondary stress, `u` none, `U` none and no stress beside it, so that the metre may
stress it (har-mo-NY). Words of one syllable, from heavy to light: `c` content, `b` quantity or place (all, here,
down), `n` negation, degree or question (not, so, what), `i` interjection, `v` auxiliary, `o` pronoun, `q` conjunction
or relative, `p` preposition, `d` possessive, `a` article.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.poetry.sound.phones import read_stresses
from learnable.verifiers.poetry.sound.pronunciation import estimate_syllables, may_merge, pronounce
from learnable.verifiers.poetry.sound.syllables import lengthen, shorten
from learnable.verifiers.poetry.sound.unknown_words import guess_by_ending

_CLASSES = {
    "b": """all such here now down out off back more most much one two three six ten both each few own first last once
        twice hence thence forth yes yea aye oft soon these those up well self half""",
    "n": """no not nay none so then there this too yet still thus quite just how what why else some e'er ne'er next
        even' like that's here's there's what's how's""",
    "i": "o oh ah lo alas hail ho ay hark ha hey la fie pooh tut",
    "v": """is was are were am be been being has have had hath hast do does did doth dost done can could canst shall
        should shalt will would wilt may might must let wert wast art is't isn't don't can't won't 'tis tis twas twere
        twill twould 'twas 'twere 'twill 'twould it's he's she's i'm we're they're i've we've i'll he'll she'll
        we'll they'll you'll you're you've i'd he'd she'd we'd they'd you'd had'st let's need dare""",
    "o": "i he she we they me him us them thee thou it you ye her mine thine ours 'em em",
    "q": """and but or nor if as than that when while ere lest till though tho' tho since for an' whence who whom whose
        where which who's where's that'll""",
    "p": """in on with from by at to of through thro' thro near past round 'neath neath 'twixt twixt midst mid
        wi' wi o' i' ere 'gainst gainst mongst 'mongst upo' up o'er""",
    "d": "my thy his her its our your their mine thine",
    "a": "a an the th' ye'",
}
_FUNCTION_WORDS = frozenset(
    """into unto upon over under after before above below beneath behind within without among amid against about
    around across along between beyond beside until because whether either neither any many every other another ever
    never only very even himself herself itself myself thyself yourself themselves ourselves whatever whoever whenever
    wherever although something nothing everything anything someone everyone being having shouldst""".split()
)


@dataclass(frozen=True, slots=True)
class StressPattern:
    """One way to say a word: a letter for each syllable, and the cost of departing from the usual way."""

    syllables: str
    cost: float


SECOND_CHOICE = 0.3  # a pronunciation that the dictionary does not give first
ELIDED = 2.2
LENGTHENED = 3.0
MERGED = 2.6
GUESSED_OTHERWISE = 1.0  # an unknown word whose main stress is not where its spelling suggests
MERGING = StressPattern("", MERGED)  # the word gives up its syllable to its neighbour: th'expense, many a


@cache
def load_word_classes() -> dict[str, str]:
    """Return the class letter of each listed word of one syllable; a word in several lists has the first one's."""
    classes: dict[str, str] = {}
    for letter, words in _CLASSES.items():
        for word in words.split():
            classes.setdefault(word, letter)
    return classes


@lru_cache(maxsize=65_536)
def find_readings(word: str) -> tuple[StressPattern, ...]:
    """Return the ways to say a word, the cheapest first: each way to stress it once, at its lowest cost."""
    known = pronounce(word)
    if not known:
        return _guess(word)
    costs: dict[str, float] = {}
    for rank, phones in enumerate(known):
        variants = [(phones, SECOND_CHOICE * min(rank, 1))]
        variants += [(form, ELIDED) for form in shorten(phones)]
        variants += [(form, LENGTHENED) for form in lengthen(word, phones)]
        for form, cost in variants:
            syllables = _letters(word, read_stresses(form))
            costs[syllables] = min(cost, costs.get(syllables, cost))
    return tuple(StressPattern(syllables, cost) for syllables, cost in sorted(costs.items(), key=lambda item: item[1]))


def find_line_readings(words: Sequence[str]) -> list[tuple[StressPattern, ...]]:
    """Return the ways to say each word of a line; a word may also lose its syllable to a neighbour."""
    readings = [find_readings(word) for word in words]
    for index in range(1, len(words)):
        if may_merge(words[index - 1], words[index]):
            giver = index - 1 if words[index - 1] in ("the", "to") else index
            if gives_syllable(readings[giver]):
                readings[giver] = (*readings[giver], MERGING)
    return readings


def gives_syllable(readings: Sequence[StressPattern]) -> bool:
    """Whether a word of these readings is light enough to give up its one syllable."""
    return len(readings[0].syllables) == 1 and readings[0].syllables not in "cb"


def _letters(word: str, marks: str) -> str:
    if len(marks) == 1:
        return load_word_classes().get(word, "c")
    main = "F" if word in _FUNCTION_WORDS else "P"
    if "1" not in marks:
        marks = marks.replace("2", "1", 1)
    letters = marks.translate(str.maketrans("012", f"u{main}S"))
    return "".join(
        "U" if letter == "u" and set(letters[max(0, index - 1) : index + 2]) <= {"u"} else letter
        for index, letter in enumerate(letters)
    )


def _guess(word: str) -> tuple[StressPattern, ...]:
    """Return the ways to say an unknown word: the main stress may be elsewhere, as in names and old spellings."""
    letters = word.replace("'", "")
    count = estimate_syllables(word)
    if count == 1:
        return (StressPattern("c", 0.0),)
    likeliest = count - min(count, guess_by_ending(load_lexicon().main_stresses, letters))
    # The main stress of an unknown word is on one of its first four syllables.
    others = [main for main in range(min(count, 4)) if main != likeliest]
    return tuple(
        StressPattern(_alternate(count, main), cost)
        for main, cost in zip([likeliest, *others], [0.0, *[GUESSED_OTHERWISE] * len(others)], strict=True)
    )


def _alternate(count: int, main: int) -> str:
    # English alternates: every second syllable away from the main stress may carry a lesser one.
    return "".join(
        "P" if index == main else "S" if (main - index) % 2 == 0 and index < main else "u" for index in range(count)
    )
