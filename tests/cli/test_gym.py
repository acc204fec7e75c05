"""reasoning-gym's data sets through the command line."""

from __future__ import annotations

import pytest

from learnable.data.sources.gym.library import library_version
from tests.cli.files_for_tests import Find

needs_library = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")


@needs_library
def test_prompts_of_a_data_set_are_sampled_and_published(find: Find) -> None:
    found = find("reasoning-gym:chain_sum?num_terms=2&num_digits=1", "--limit", 12)
    assert found.status == 0
    assert "repeat" not in found.err
    assert len(found.prompts) == 12  # questions that differ in a number are no duplicates
    assert {prompt.form for prompt in found.prompts} == {"chain_sum"}
    assert found.report["curated"].rpartition("curated/")[2].startswith("reasoning-gym_chain_sum")


@needs_library
def test_a_preview_shows_what_a_data_set_asks_and_expects(find: Find) -> None:
    found = find("reasoning-gym:chain_sum?num_terms=2", "--show", 1)
    assert found.status == 0, found.err
    assert found.prompts == []


@needs_library
def test_what_there_is_not_is_said_with_what_there_is(find: Find) -> None:
    found = find("reasoning-gym:chain_sun")
    assert (found.status, found.prompts) == (2, [])
    assert "unknown reasoning-gym data set 'chain_sun': did you mean 'chain_sum'" in found.err


def test_flags_of_files_are_refused(find: Find) -> None:
    found = find("reasoning-gym:chain_sum", "--verifier", "number")
    assert found.status == 2
    assert "brings its own answers and judge: leave out --verifier" in found.err


def test_without_the_package_the_install_command_is_said(find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnable.data.sources.gym.library.library_version", lambda: "")
    found = find("reasoning-gym:chain_sum")
    assert found.status == 2
    assert "reasoning-gym is not installed" in found.err
    assert "pip install 'learnable[gym]'" in found.err
