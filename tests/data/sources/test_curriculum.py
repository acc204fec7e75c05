"""A curriculum says which knobs hold at a step, and a wrong file says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.builtin import builtin_prompts
from learnable.data.sources.curriculum import Curriculum, Stage, read_curriculum, shipped_curricula

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
