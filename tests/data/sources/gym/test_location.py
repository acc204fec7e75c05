"""How reasoning-gym's data sets are named on the command line."""

from __future__ import annotations

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.gym import prompts as gym_prompts_module
from learnable.data.sources.gym.library import load_library, require_library
from learnable.data.sources.gym.location import is_gym, read_location
from learnable.data.sources.gym.prompts import gym_prompts
from learnable.flows.settings import CurateSettings, PromptSettings


def test_names_are_told_from_files_and_hub_ids():
    places = ("reasoning-gym:chain_sum", "reasoning-gym:*", "reasoning-gym", "org/reasoning-gym", "gym.jsonl", None)
    assert [is_gym(place) for place in places] == [True, True, False, False, False, False]


def test_hyphens_case_and_percent_signs_are_read():
    read = read_location("reasoning-gym:Chain-Sum?operators=%2B,-&a=+")
    assert (read.pattern, read.knobs) == ("chain_sum", {"operators": "+,-", "a": "+"})


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("reasoning-gym:", "names no data set"),
        ("reasoning-gym:?level=2", "names no data set"),
        ("reasoning-gym:maze?level", "'level' is no knob with a value"),
        ("reasoning-gym:maze?=3", "'=3' is no knob with a value"),
        ("reasoning-gym:maze?level=1&level=2", "'level=2' is set twice"),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_starts(location, words):
    with pytest.raises(LearnableError, match=r"`location` .*reasoning-gym:") as error:
        PromptSettings(location=location)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["answer_column", "verifier", "split_by"])
def test_settings_of_files_are_refused(name):
    with pytest.raises(LearnableError, match=f"leave out `{name}`"):
        PromptSettings(location="reasoning-gym:maze", **{name: "number"})


def test_knobs_of_families_are_refused_with_how_to_write_them():
    with pytest.raises(LearnableError, match=r"write reasoning-gym:maze\?level=\.\.\."):
        PromptSettings(location="reasoning-gym:maze?min_dist=3", knobs={"level": "2"})


def test_a_set_is_named_after_its_prompts():
    names = [CurateSettings(PromptSettings(location=f"reasoning-gym:{name}")).set_name for name in ("a_b?level=2", "*")]
    assert names == ["reasoning-gym_a_b_level_2", "reasoning-gym"]


def test_generated_prompts_are_told_from_those_of_files():
    places = (None, "reasoning-gym:maze", "maze.jsonl")
    assert [PromptSettings(location=place).is_generated for place in places] == [True, True, False]


def test_without_the_library_the_install_command_is_said(monkeypatch):
    monkeypatch.setattr("learnable.data.sources.gym.library.library_version", lambda: "")
    load_library.cache_clear()
    for needs_it in (require_library, load_library, lambda: next(gym_prompts("reasoning-gym:maze", 0))):
        with pytest.raises(LearnableError, match=r"reasoning-gym is not installed.*pip install 'learnable\[gym\]'"):
            needs_it()


def test_a_process_that_dies_is_an_error_with_its_last_words(monkeypatch):
    monkeypatch.setattr(gym_prompts_module, "require_library", lambda: None)
    monkeypatch.setattr(gym_prompts_module, "_START", "raise SystemExit('no more room')")
    with pytest.raises(LearnableError, match="reasoning-gym failed: no more room"):
        next(gym_prompts("reasoning-gym:maze", 0))
