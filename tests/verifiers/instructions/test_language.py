"""Languages that can be told: the lists that tell them, and what the page and the judge say of them."""

from __future__ import annotations

import re
import tomllib

import pytest

from learnable.verifiers.instructions.language import (
    ONE_LANGUAGE,
    find_foreign,
    known_languages,
    reads_as_english,
    script_of,
)
from tests.support.paths import ROOT

ENTRIES = tomllib.loads((ROOT / "verifiers" / "instructions" / "languages.toml").read_text(encoding="utf-8"))


def test_words_are_listed_as_they_are_looked_up() -> None:
    assert not set(ENTRIES) & set(ONE_LANGUAGE.values())
    for code, entry in ENTRIES.items():
        words = entry["words"].split()
        assert len(words) >= 60, code
        assert [word for word in words if word != word.lower() or not word[0].isalpha()] == [], code
        assert len(words) - len(set(words)) <= 3, code


def test_every_language_has_its_own_words() -> None:
    for code, entry in ENTRIES.items():
        others = {word for other, one in ENTRIES.items() if other != code for word in one["words"].split()}
        assert len(set(entry["words"].split()) - others) >= 30, code


def test_the_page_names_the_languages() -> None:
    page = (ROOT / "docs" / "reference" / "instruction-kinds.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]{2})`", page[page.index("## Languages") :])
    assert sorted(named) == list(known_languages())
    assert {script_of(code) for code in ENTRIES} == {"LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI"}


@pytest.mark.parametrize(
    ("text", "is_english"),
    [
        ("OK", True),
        ("THE QUICK BROWN FOX", True),
        ("Istanbul, Ankara, Izmir", True),
        ("ÇOK GÜZEL BİR GÜN VE BEN DE GELİYORUM AMA SEN YOKSUN", False),
        ("Οχι", False),
        ("", False),
    ],
)
def test_english_is_what_nothing_speaks_against(text: str, is_english: bool) -> None:
    assert reads_as_english(text) is is_english


def test_what_a_text_reads_as_instead_is_said() -> None:
    assert find_foreign("!!!", "es") == "it reads as no language, not es"
    assert find_foreign("Она говорит, что это не так", "en") == "it reads as ru, not en"
    assert find_foreign("ab вг де", "ru") == "33% of its letters are in another script than ru"


# Everyday sentences, in languages that share a script with others and say by endings what those say by words.
SENTENCES = {
    "ne": (
        "आज मौसम निकै राम्रो देखिन्छ।",
        "हिमालमा हिउँ पर्यो।",
        "पानी परेपछि बाटोमा हिलो जम्यो।",
        "मेरी आमाले मिठो खाना पकाउनुहुन्छ।",
        "हामीलाई यहाँको खाना मन पर्छ।",
    ),
    "hi": ("पानी बरसने लगा।", "उसने दरवाज़ा खोला।", "गाँव के लोग खेतों में काम करते हैं।"),
    "mr": ("गावातील लोक शेतात काम करतात.", "सूर्य पूर्वेला उगवतो.", "पाऊस पडू लागला."),
    "ru": ("Книга оказалась интересной.", "Дети играют в саду."),
    "uk": ("Книга виявилася цікавою.",),
    "bg": ("Децата играят в градината.",),
    "ar": ("الطقس جميل اليوم.",),
    "fi": ("Lapset leikkivät puutarhassa.", "Kirja osoittautui kiinnostavaksi."),
    "sw": ("Watoto wanacheza bustanini.", "Alisoma kitabu kizuri jana."),
    "tr": ("Çocuklar bahçede oynuyor.",),
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in SENTENCES.items() for text in texts])
def test_a_sentence_is_of_its_language(code: str, text: str) -> None:
    assert find_foreign(text, code) == ""


@pytest.mark.parametrize(
    ("code", "other"),
    [("ne", "mr"), ("mr", "hi"), ("bg", "ru"), ("ru", "bg"), ("uk", "ru"), ("ru", "uk")],
)
def test_a_text_is_of_no_neighbour(code: str, other: str) -> None:
    assert find_foreign(" ".join(SENTENCES[code]), other) != ""
