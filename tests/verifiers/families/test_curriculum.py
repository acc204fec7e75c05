"""A curriculum says which knobs hold at a step, and a wrong file says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.families.curriculum import Curriculum, Stage, read_curriculum, shipped_curricula
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.wordings import find_wording, reword
from tests.support.domains import needs_poems

EASY, HARD = Stage("easy", 0, {"bits": 3}), Stage("hard", 100, {"bits": 8})


@pytest.mark.parametrize("name", shipped_curricula())
def test_what_is_shipped_can_be_used(name: str) -> None:
    curriculum = read_curriculum(name)
    assert len(curriculum.stages) > 1
    for stage in curriculum.stages:
        assert len(list(builtin_prompts(families=[curriculum.family], limit=20, knobs=stage.knobs))) == 20


def test_a_stage_begins_with_its_first_step() -> None:
    curriculum = Curriculum("binary", (EASY, HARD))
    assert [curriculum.stage_at(step) for step in (0, 99, 100, 10**6)] == [EASY, EASY, HARD, HARD]
    assert curriculum.knobs_at(99) == {"bits": 3}
    with pytest.raises(LearnableError, match="step -1"):
        curriculum.knobs_at(-1)


def test_a_stage_is_found_by_name_or_number() -> None:
    curriculum = Curriculum("binary", (EASY, HARD))
    assert [curriculum.find_stage(name) for name in ("hard", "1", "2")] == [HARD, EASY, HARD]
    with pytest.raises(LearnableError, match="did you mean 'hard'"):
        curriculum.find_stage("hrad")


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    rows = [{"stage": 7, "from_step": 0, "knobs": {"bits": 3}}]
    (tmp_path / "a.json").write_text(json.dumps({"family": "Binary", "stages": rows}))
    (tmp_path / "a.toml").write_text('family="binary"\n[[stages]]\nstage=7\nfrom_step=0\nknobs={bits=3}\n')
    both = [read_curriculum(str(tmp_path / name)) for name in ("a.json", "a.toml")]
    assert both == [Curriculum("binary", (Stage("7", 0, {"bits": 3}),))] * 2


def row(stage: str = "x", from_step: object = 0, **knobs: object) -> dict[str, object]:
    return {"stage": stage, "from_step": from_step, "knobs": knobs}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"family": "binary", "stages": [row(from_step=5)]}, "give it from_step = 0"),
        ({"family": "binary", "stages": []}, "give it from_step = 0"),
        ({"family": "binary", "stages": [row(), row("y")]}, "stage 'y' has from_step = 0, and the one before it 0"),
        ({"family": "binary", "stages": [row(), row(from_step=9)]}, "two stages are called 'x'"),
        ({"family": "binary", "stages": [row(bits=99)]}, "stage 'x': binary knob bits=99 is out of range"),
        ({"family": "binary", "stages": [row(bit=9)]}, "stage 'x': .* did you mean 'bits'"),
        ({"family": "binary", "stages": [row(bits=3.5)]}, "bits=3.5 is not int"),
        ({"family": "binry", "stages": [row()]}, "did you mean 'binary'"),
        ({"family": "binary", "stages": [row(from_step="0")]}, "from_step = '0', which is no whole number"),
        ({"family": "binary", "stages": [row(from_step=True)]}, "from_step = True, which is no whole number"),
        ({"family": "binary", "stages": [{"stage": "x", "knobs": {}}]}, "stage 1 has no from_step"),
        ({"family": "binary", "stages": [{**row(), "step": 1}]}, "unknown stage 1: key 'step'"),
        ({"family": "binary"}, "the file has no stages"),
        ({"stages": [row(bits=3)]}, "stage 'x' has knobs, and the file no family whose they are"),
        ({"stages": [{**row(), "difficulty": [1]}]}, "give the lowest and the highest"),
        ({"family": "binary", "stages": [{**row(), "forms": ["ToBinry"]}]}, "did you mean 'ToBinary'"),
        ({"family": "binary", "stages": [row()], "up": 0.2}, "down = 0.3 and up = 0.2 are no pass rates"),
        ([], "the file is no table"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(given: object, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(given))
    with pytest.raises(LearnableError, match=said) as raised:
        read_curriculum(str(file))
    assert str(file) in str(raised.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match=r"neither a file nor one of ours \(arithmetic, counting\)"):
        read_curriculum("cuonting")
    (tmp_path / "bad.toml").write_text("family = ")
    with pytest.raises(LearnableError, match="cannot be read"):
        read_curriculum(str(tmp_path / "bad.toml"))


@pytest.mark.parametrize("name", shipped_curricula())
@pytest.mark.parametrize("wording", ["plain", "natural"])
def test_each_prompt_is_of_the_first_stage_that_may_ask_it(name: str, wording: str) -> None:
    curriculum = read_curriculum(name)
    words = find_wording(wording)
    for number, stage in enumerate(curriculum.stages):
        prompts = list(builtin_prompts(families=[curriculum.family], limit=200, knobs=stage.knobs))
        prompts = list(reword(prompts, words, {}, {})) if words else prompts
        found = curriculum.assign(prompts)
        assert min(found) >= 0
        assert max(found) == number
        assert found.count(number) >= len(prompts) // 8


def test_what_no_stage_may_ask_is_of_none() -> None:
    curriculum = read_curriculum("arithmetic")
    others = [
        *builtin_prompts(families=["parity"], limit=3),
        *builtin_prompts(["LargeSums"], limit=3, knobs={"digits": 8}),
    ]
    assert curriculum.assign(others) == [-1] * 6


def test_prompts_are_assigned_by_form_and_difficulty_without_a_family(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[[stages]]\nstage="easy"\nfrom_step=0\nforms=["Addition"]\n'
        '[[stages]]\nstage="hard"\nfrom_step=9\ndifficulty=[5, 10]\n'
    )
    prompts = list(builtin_prompts(["Addition", "LargeProducts"], limit=20))
    hard = [0 if p.form == "Addition" else 1 if (p.difficulty or 0) >= 5 else -1 for p in prompts]
    assert read_curriculum(str(file)).assign(prompts) == hard
    assert set(hard) >= {0, 1}


@needs_poems
def test_a_knob_that_no_question_shows_is_refused() -> None:
    curriculum = Curriculum("poetry", (Stage("short", 0, {"tolerance": 2}),))
    with pytest.raises(LearnableError, match="keep tolerance=2 cannot be read out of them: say it by forms"):
        curriculum.assign([])
