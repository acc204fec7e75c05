"""Knobs of reasoning-gym's data sets, levels of their curricula, and what is said of others."""

from __future__ import annotations

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.gym.configuring import (
    config_changes,
    data_set_names,
    make_config,
    place_on_levels,
)
from learnable.data.sources.gym.library import library_version

pytestmark = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")


def changes(name: str, **knobs: str) -> dict[str, object]:
    return config_changes(name, make_config(name, {key.replace("__", "."): text for key, text in knobs.items()}))


def test_a_pattern_means_every_data_set_but_the_mixture():
    names = data_set_names("*")
    assert len(names) == 105
    assert "composite" not in names
    assert data_set_names("string_*") == [
        "string_insertion",
        "string_manipulation",
        "string_splitting",
        "string_synthesis",
    ]


@pytest.mark.parametrize("name", ["chain_sun", "composite", "strings_*"])
def test_unknown_names_are_refused(name):
    with pytest.raises(LearnableError, match=f"unknown reasoning-gym data set '{name.replace('*', '.*')}'"):
        data_set_names(name)


def test_the_nearest_name_is_offered():
    with pytest.raises(LearnableError, match="did you mean 'chain_sum'"):
        data_set_names("chain_sun")


def test_fields_are_read_as_what_they_usually_are():
    assert changes("chain_sum", max_terms="9", allow_negation="true") == {"max_terms": 9, "allow_negation": True}
    assert changes("basic_arithmetic", operators='["+"]') == {"operators": ["+"]}
    assert changes("basic_arithmetic", operators="+,-", whitespace="random") == {
        "operators": ["+", "-"],
        "whitespace": "random",
    }
    assert changes("leg_counting") == {}


def test_an_attribute_sets_both_its_ends():
    assert changes("chain_sum", num_terms="4") == {"min_terms": 4, "max_terms": 4}
    assert changes("chain_sum", num_terms="3-5", min_terms="2") == {"max_terms": 5}
    assert changes("advanced_geometry", max_coord="20") == {"max_coord": 20}


def test_a_level_sets_every_attribute_or_one_and_other_knobs_come_after_it():
    low, high = changes("chain_sum", level="0"), changes("chain_sum", level="10")
    assert (low["max_terms"], low["max_digits"]) < (high["max_terms"], high["max_digits"])
    assert changes("chain_sum", level="0", level__num_terms="10")["max_terms"] == high["max_terms"]
    assert changes("chain_sum", max_terms="7", level="0")["max_terms"] == 7


@pytest.mark.parametrize(
    ("name", "knobs", "words"),
    [
        ("chain_sum", {"max_term": "3"}, "no knob 'max_term': did you mean 'max_terms'"),
        ("chain_sum", {"zzz": "3"}, "It has allow_negation, level, max_digits, max_terms"),
        ("chain_sum", {"max_terms": "many"}, "max_terms=many is no int: give one as 6"),
        ("chain_sum", {"max_terms": "true"}, "max_terms=true is no int"),
        ("chain_sum", {"allow_negation": "1"}, "allow_negation=1 is no bool: give one as false"),
        ("chain_sum", {"seed": "3"}, "what `seed` and `limit` say"),
        ("chain_sum", {"size": "3"}, "what `seed` and `limit` say"),
        ("chain_sum", {"min_terms": "9"}, "chain_sum refuses min_terms=9: "),
        ("chain_sum", {"level": "11"}, "level=11 is no level: give 0 to 10"),
        ("chain_sum", {"level": "-1"}, "level=-1 is no level"),
        ("chain_sum", {"level.num_term": "1"}, "did you mean 'num_terms'"),
        ("gsm_symbolic", {"level": "1"}, "no curriculum, so no level"),
        ("caesar_cipher", {"level": "3"}, "caesar_cipher refuses level=3: rotation"),
    ],
)
def test_other_knobs_are_refused_with_the_fix(name, knobs, words):
    with pytest.raises(LearnableError) as error:
        make_config(name, knobs)
    assert words in str(error.value)


def test_a_size_that_is_an_attribute_is_one():
    assert changes("arc_1d", size="12") == {"min_size": 12, "max_size": 12}


def test_difficulty_is_the_place_on_the_levels():
    assert place_on_levels("chain_sum", {"num_terms": 2, "num_digits": 1}) == 1.0
    assert place_on_levels("chain_sum", {"num_terms": 12, "num_digits": 10}) == 10.0
    assert place_on_levels("chain_sum", {"difficulty": {"num_terms": (2, 7), "num_digits": (1, 1)}}) == 3.2
    assert place_on_levels("advanced_geometry", {"difficulty": {"min_coord": -1000, "max_coord": 1000}}) == 7.0
    assert place_on_levels("gsm_symbolic", {"difficulty": 1.0}) is None
    assert place_on_levels("syllogism", {}) is None
