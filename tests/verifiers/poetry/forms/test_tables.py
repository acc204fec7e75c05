"""The tables of forms: every one loads, says what it asks, and is found by its names."""

from __future__ import annotations

import re

from learnable.data.sources.family import fold_name
from learnable.verifiers.poetry.forms import constrain_form, find_form, poem_forms, requirement

# Lines of the poem a prompt asks for, written down from the literature and not from the tables.
LINES = {
    "Sijo": 3, "Choka": 9, "Dodoitsu": 4, "Bussokusekika": 6, "Somonka": 10, "Imayo": 8, "Lune": 3, "CollomLune": 3,
    "AmericanSentence": 1, "Nonet": 9, "Fibonacci": 6, "Tetractys": 5, "DoubleTetractys": 10, "Rictameter": 9,
    "Shadorma": 6, "WordCinquain": 5, "MinutePoem": 12, "CommonMeasure": 4, "LongMeasure": 4, "ShortMeasure": 4,
    "InMemoriamStanza": 4, "TailRhyme": 6, "VenusAndAdonisStanza": 6, "MonksTaleStanza": 8, "SicilianQuintain": 5,
    "EnglishQuintain": 5, "SicilianOctave": 8, "StrambottoToscano": 8, "BobAndWheel": 5, "DoubleDactyl": 8, "Magic9": 9,
    "TerzaRimaSonnet": 14, "WordsworthianSonnet": 14, "CoupletSonnet": 14, "WyattSonnet": 14, "Huitain": 8,
    "Dizain": 10,
    "BalladeSupreme": 35, "RondeauRedouble": 25, "Madrigal": 13, "Quatern": 16, "Retourne": 16, "Trimeric": 13,
    "TrentaSei": 36, "Cascade": 12, "Glosa": 44, "Decima": 10, "Redondilla": 4, "Quintilla": 5, "Copla": 4,
    "Romance": 8,
    "Lira": 5, "Ovillejo": 10, "Zejel": 11, "Endecha": 4, "EnglynMilwr": 3, "EnglynPenfyr": 3, "EnglynUnodlUnion": 4,
    "EnglynCyrch": 4, "CywyddLlosgyrnach": 6, "AwdlGywydd": 4, "Clogyrnach": 6, "CyhydeddHir": 8, "AeFreislighe": 4,
    "Deibhidhe": 4, "RannaigheachtMhor": 4, "RannaigheachtGhairid": 4, "RionnairdTriNard": 4, "Casbairdne": 4,
    "LucBat": 6, "SongThatLucBat": 8, "ThanBauk": 3, "Pantun": 4, "Dalit": 4, "Diona": 3, "Qasida": 14, "Mukhammas": 15,
    "Musaddas": 12, "Doha": 2, "Jueju": 4, "Lushi": 8, "AlcaicStanza": 4, "DoubleSestina": 150, "Telestich": 5,
    "DoubleAcrostic": 4, "Abecedarian": 26, "GoldenShovel": 6, "CoprimeVerse": 4, "CharacterPalindromePoem": 3,
    "VowelPilgrimage": 5, "PrimeVerse": 6, "NumericalEcho": 8, "PiKu": 5, "GoldenRatio": 6, "FibonacciVerse": 5,
    "TriangularVerse": 4, "PythagoreanTercet": 3, "ArithmeticVerse": 5, "DescendingStaircase": 7, "OddEvenDance": 6,
    "BinaryBeat": 8, "MonotoneMountain": 5, "AlphabeticTerminus": 26, "NumberWord": 10, "PrecisionVerse": 4,
    "IsolatedCouplet": 2, "AlternatingIsolation": 4, "SelfReferential": 4,
}  # fmt: skip
PROXIES = {
    "AlliterativeVerse", "EnglynPenfyr", "EnglynUnodlUnion", "EnglynCyrch", "CywyddDeuairHirion", "CywyddLlosgyrnach",
    "AwdlGywydd", "CyhydeddHir", "Deibhidhe", "RannaigheachtMhor", "RannaigheachtGhairid", "RionnairdTriNard",
    "Casbairdne",
    "Doha", "Jueju", "Lushi", "DoubleSestina",
}  # fmt: skip
REWARDS = sorted(name for name, form in poem_forms().items() if form.is_reward and name != "Verse")


def count_lines(name: str) -> int:
    form = constrain_form(find_form(name), {})
    parts = [part.part_lines() or 0 for part in (form.opening, form.closing) if part is not None]
    unit = form.line_count if form.repeat is None else (form.part_lines() or 0) * form.repeat_default
    return sum(parts) + (unit or 0)


def test_a_form_has_the_lines_it_should_have() -> None:
    assert {name: count_lines(name) for name in LINES} == LINES


def test_forms_whose_heart_cannot_be_checked_say_so() -> None:
    assert {name: find_form(name).check for name in PROXIES} == dict.fromkeys(PROXIES, "proxy")


def test_there_are_more_than_two_hundred_forms_that_can_be_checked() -> None:
    assert sum(form.check == "structure" for form in poem_forms().values()) >= 200


def test_no_two_forms_share_a_name() -> None:
    owners: dict[str, str] = {}
    for name, form in poem_forms().items():
        for alias in (name, form.title, *form.aliases):
            assert owners.setdefault(fold_name(alias), name) == name, (
                f"{alias} is {owners[fold_name(alias)]} and {name}"
            )


def test_a_requirement_is_one_line_of_plain_english() -> None:
    for name in REWARDS:
        said = requirement(constrain_form(find_form(name), {}))
        assert len(said) > 10, name
        assert "\n" not in said, name
        assert "  " not in said, name
        odd = re.search(r"\$|\bNone\b|[{}]|, ,|\b1 (?:lines|stanzas|pairs|sentences)\b|[a-z]_[a-z]", said)
        assert not odd, (name, said)


def test_a_title_can_stand_after_write_a() -> None:
    for name in REWARDS:
        title = find_form(name).title
        assert title == title.strip(), name
        assert title.split()[0].lower() not in ("a", "an", "the"), name
