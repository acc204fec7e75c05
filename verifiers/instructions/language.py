"""Which language a text is in: by its script, and among languages of one script by words of grammar and letters.

It says no more than it can tell. Most scripts here are of one language. Where several languages share one, a text has
some fifth of its words from the lists of `languages.toml`, or words that end or begin as no other language's do; what
is of several languages counts for each of them, the less the more they are.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from learnable.data.errors import LearnableError

# Chinese shares its signs with Japanese, which never does without kana.
ONE_LANGUAGE = {
    "BENGALI": "bn",
    "CJK": "zh",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he",
    "KANA": "ja",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
}
KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HALFWIDTH")
MIN_SCRIPT_SHARE = 0.7  # of the letters that are of the script, names and terms in another apart
MIN_EVIDENCE = 0.08  # a word, on average
FEW_WORDS = 2  # which may be of several languages
_AROUND_WORDS = (
    ".,;:!?\"'()[]{}<>*_#`~|/\\-+=\u2013\u2014\u2026\u00ab\u00bb\u201c\u201d\u2018\u2019\u201e\u00bf\u00a1"
    "\u0964\u060c\u061b\u061f\u06d4"
)


class UntoldLanguageError(LearnableError):
    """A text of a word or two that may be of several languages, or of none that is known."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What was told of a text: its main script, that script's share of the letters, and the evidence by language."""

    script: str
    share: float
    words: int
    evidence: Mapping[str, float]

    @property
    def best(self) -> str:
        return max(self.evidence, key=lambda code: self.evidence[code], default="")

    def is_sure(self, least: float) -> bool:
        return self.evidence.get(self.best, 0.0) > least * self.words


def find_foreign(text: str, language: str) -> str:
    """Return "" where all of a text reads as the language, else what it reads as, or which line does.

    Raises `UntoldLanguageError` for one or two words that tell nothing.
    """
    code = primary_code(language)
    told = _tell(text)
    if told.script != script_of(code):
        return f"it reads as {told.best or told.script.lower() or 'no language'}, not {code}"
    if told.share < MIN_SCRIPT_SHARE:
        return f"{1 - told.share:.0%} of its letters are in another script than {code}"
    if not told.is_sure(0.25 if told.words <= FEW_WORDS else MIN_EVIDENCE):
        if told.words <= FEW_WORDS:
            raise UntoldLanguageError(f"so few words do not tell whether they are {code}: {text.strip()[:40]!r}")
        return f"it reads as no language that is known, not {code}"
    if told.evidence.get(code, 0.0) < told.evidence[told.best]:
        return f"it reads as {told.best}, not {code}"
    return _foreign_line(text, code)


def _foreign_line(text: str, code: str) -> str:
    lines = text.splitlines()
    for number, line in enumerate(lines if len(lines) > 1 else (), 1):
        told = _tell(line)
        own = told.evidence.get(code, 0.0)
        # A shorter line tells nothing by itself.
        if told.words >= 6 and told.is_sure(0.15) and told.evidence[told.best] > 2 * own:
            return f"line {number} reads as {told.best}, not {code}"
    return ""


def reads_as_english(text: str) -> bool:
    """Say whether nothing tells that a text is in another language than English, whatever its case."""
    told = _tell(text.lower())
    english = told.evidence.get("en", 0.0)
    # Another language is told where it has half as much evidence again as English.
    other = told.best != "en" and told.is_sure(MIN_EVIDENCE) and told.evidence[told.best] > max(1.0, 1.5 * english)
    return told.script == "LATIN" and told.share >= MIN_SCRIPT_SHARE and not other


def primary_code(language: str) -> str:
    """Return the code of a language without region or script.

    >>> primary_code("zh-cn"), primary_code("PT")
    ('zh', 'pt')
    """
    return language.strip().lower().replace("_", "-").partition("-")[0]


@cache
def known_languages() -> tuple[str, ...]:
    """Return the codes (ISO 639-1) of the languages that can be told, in order."""
    return tuple(sorted([*_load(), *ONE_LANGUAGE.values()]))


def script_of(code: str) -> str:
    """Return the script of a known language."""
    table = _load()
    return table[code]["script"] if code in table else next(key for key, one in ONE_LANGUAGE.items() if one == code)


def _tell(text: str) -> _Told:
    scripts = _count_scripts(text)
    total = sum(scripts.values())
    if not total:
        return _Told("", 0.0, 0, {})
    script, count = scripts.most_common(1)[0]
    words = [word for word in (part.strip(_AROUND_WORDS) for part in text.lower().split()) if word]
    if script in ONE_LANGUAGE:
        return _Told(script, count / total, len(words), {ONE_LANGUAGE[script]: float(len(words))})
    evidence: dict[str, float] = defaultdict(float)
    for word in words:
        for code, weight in _weigh(word.replace("\u2019", "'"), script):
            evidence[code] += weight
    return _Told(script, count / total, len(words), evidence)


def _count_scripts(text: str) -> Counter[str]:
    if text.isascii():
        letters = sum(map(str.isalpha, text))
        return Counter({"LATIN": letters}) if letters else Counter()
    scripts: Counter[str] = Counter()
    for sign, count in Counter(text).items():
        if script := _script(sign):
            scripts[script] += count
    # A tenth of the signs of a Japanese text are kana; the rest may be Chinese ones.
    if scripts["KANA"] >= 0.1 * (scripts["KANA"] + scripts["CJK"]):
        scripts["KANA"] += scripts.pop("CJK", 0)
    return +scripts


@lru_cache(maxsize=8192)
def _script(sign: str) -> str:
    """Return the script of a letter or of a vowel sign, "" for anything else."""
    if not (sign.isalpha() or unicodedata.category(sign) in ("Mc", "Mn")):
        return ""
    name = unicodedata.name(sign, "").partition(" ")[0]
    return "KANA" if name in KANA else "" if name == "COMBINING" else name


@lru_cache(maxsize=65536)
def _weigh(word: str, script: str) -> tuple[tuple[str, float], ...]:
    """Return the languages that a word is of, each with its weight: by the lists, else by its ends or its letters."""
    tables = _tables(script)
    if languages := tables.words.get(word):
        return tuple((code, 1 / len(languages)) for code in languages)
    by_letters = sorted({code for letter in set(word) for code in tables.letters.get(letter, ())})
    codes = _by_ends(word, tables) or tuple(by_letters)
    # A word that is told by a letter or by an end alone counts half, as names have them in any language.
    return tuple((code, 0.5 / len(codes)) for code in codes)


def _by_ends(word: str, tables: _Tables) -> tuple[str, ...]:
    """Return the languages of the longest ending that a word has, or else of its longest beginning."""
    # At least two characters stand before an ending or behind a beginning.
    sizes = range(len(word) - 2, 0, -1)
    endings = (tables.endings[word[-size:]] for size in sizes if word[-size:] in tables.endings)
    beginnings = (tables.beginnings[word[:size]] for size in sizes if word[:size] in tables.beginnings)
    return next(endings, ()) or next(beginnings, ())


@dataclass(frozen=True, slots=True)
class _Tables:
    """The languages of one script, by word, by letter, and by the two ends of words."""

    words: Mapping[str, tuple[str, ...]]
    letters: Mapping[str, tuple[str, ...]]
    endings: Mapping[str, tuple[str, ...]]
    beginnings: Mapping[str, tuple[str, ...]]


@cache
def _tables(script: str) -> _Tables:
    entries = {code: entry for code, entry in _load().items() if entry["script"] == script}
    words, endings, beginnings = (
        _invert({code: entry.get(key, "").split() for code, entry in entries.items()})
        for key in ("words", "endings", "beginnings")
    )
    return _Tables(words, _invert({code: entry["letters"] for code, entry in entries.items()}), endings, beginnings)


def _invert(lists: Mapping[str, Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
    inverted: dict[str, tuple[str, ...]] = {}
    for code, items in lists.items():
        for item in dict.fromkeys(items):
            inverted[item] = (*inverted.get(item, ()), code)
    return inverted


@cache
def _load() -> dict[str, dict[str, str]]:
    text = resources.files("learnable.verifiers.instructions").joinpath("languages.toml").read_text("utf-8")
    return tomllib.loads(text)
