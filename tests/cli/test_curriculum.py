"""`--curriculum` and `--stage` give a family and its knobs, and `--knob` goes before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.cli.commands.find_arguments import PromptArguments
from learnable.data.errors import LearnableError
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import CurateSettings
from tests.support.flags import read_flags


def test_a_stage_gives_its_family_and_knobs() -> None:
    settings = read_flags(PromptArguments, "--curriculum", "arithmetic", "--stage", "ten").settings()
    assert settings.families == ("arithmetic",)
    assert settings.knobs == {"arithmetic.largest": "10", "arithmetic.digits": "2"}


@pytest.mark.parametrize("knob", ["largest=7", "arithmetic.largest=7"])
def test_a_knob_goes_before_the_stage(knob: str) -> None:
    flags = ("--curriculum", "arithmetic", "--stage", "1", "--form", "Subtraction", "--knob", knob)
    settings = read_flags(PromptArguments, *flags).settings()
    assert settings.families == ()
    prompts = read_prompts(CurateSettings(prompts=settings)).prompts
    assert len(prompts) == 64
    assert max(prompt.spec["answer"] for prompt in prompts) == 7


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('family = "binary"\n[[stages]]\nstage = "a"\nfrom_step = 0\nknobs = { bits = 2 }\n')
    settings = read_flags(PromptArguments, "--curriculum", str(file), "--stage", "a").settings()
    prompts = read_prompts(CurateSettings(prompts=settings)).prompts
    assert len(prompts) == len({prompt.problem_id for prompt in prompts}) == 8


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--curriculum", "counting"), "has the stages few, some, many: give one as --stage"),
        (("--stage", "2"), "--stage 2 is a stage of a curriculum: give --curriculum too"),
        (("--curriculum", "counting", "--stage", "mny"), "did you mean 'many'"),
        (("--curriculum", "counting", "--stage", "1", "--prompts", "x.jsonl"), "leave out --curriculum"),
        (("--curriculum", "count", "--stage", "1"), "neither a file nor one of ours"),
    ],
)
def test_what_cannot_work_is_refused(given: tuple[str, ...], said: str) -> None:
    with pytest.raises(LearnableError, match=said):
        read_flags(PromptArguments, *given).settings()
