"""Which prompts a run draws where nobody said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.train.preflight.checks import prepare_run
from learnable.train.preflight.drawing import choose_drawing, explain_forgetting
from learnable.train.preflight.output import resume_settings
from learnable.train.settings import TrainSettings

MakeCurated = Callable[..., Path]
LOOKED_AT = {"decision": "too_easy"}


@pytest.fixture
def with_rejects(make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path) -> Path:
    rejects = [replace(prompt, split="train") for prompt in prompts_of_ones(6, length=4)]
    return make_curated(tiny_policy, others={"rejects": rejects}, columns=LOOKED_AT)


@pytest.mark.parametrize(
    ("given", "part", "sampler"),
    [
        ({}, "pool", "live"),
        ({"sampler": "live"}, "pool", "live"),
        ({"sampler": "static"}, "train", "static"),
        ({"part": "train"}, "train", "static"),
        ({"part": "pool"}, "pool", "static"),
        ({"part": "train", "sampler": "live"}, "train", "live"),
        ({"method": "sft"}, "train", "static"),
        ({"method": "dpo"}, "train", "static"),
    ],
)
def test_the_pool_is_drawn_live_unless_something_else_is_named(
    with_rejects: Path, given: dict[str, Any], part: str, sampler: str
) -> None:
    settings, notes = choose_drawing(TrainSettings(str(with_rejects), "", **given), open_curated(with_rejects))
    assert (settings.part, settings.sampler) == (part, sampler)
    chosen = not given.keys() - {"sampler"} and sampler == "live"
    assert bool(notes) == chosen
    if chosen:
        assert notes[0].startswith("draws from 14 prompts, 8 kept and 6 rejected,")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"part": "train"}, True),
        ({"sampler": "static"}, True),
        ({"part": "train", "sampler": "live"}, True),
        ({"part": "train", "families": ("counting",)}, False),
        ({"part": "reviewed"}, False),
        ({}, False),
        ({"method": "sft"}, False),
    ],
)
def test_who_takes_kept_prompts_alone_hears_what_is_left_out(
    with_rejects: Path, given: dict[str, Any], said: bool
) -> None:
    curated = open_curated(with_rejects)
    settings, _ = choose_drawing(TrainSettings(str(with_rejects), "", **given), curated)
    notes = explain_forgetting(settings, curated)
    assert [note.split(";")[0] for note in notes] == [
        "`part` train leaves out 6 prompts that the policy had mastered"
    ] * said


def test_rejects_that_cannot_be_read_stop_no_run_on_kept_prompts(with_rejects: Path) -> None:
    [rejects] = with_rejects.glob("rejects-*")
    rejects.write_bytes(b"PAR1")
    assert explain_forgetting(TrainSettings(str(with_rejects), "", part="train"), open_curated(with_rejects)) == []


def test_a_set_without_rejects_or_that_does_not_say_their_side_is_trained_on_as_it_is(
    with_rejects: Path, make_curated: MakeCurated
) -> None:
    [rejects] = with_rejects.glob("rejects-*")
    pq.write_table(pq.read_table(rejects).drop_columns(["decision"]), rejects)
    assert choose_drawing(TrainSettings("", ""), open_curated(with_rejects))[0].part == "train"
    rejects.unlink()
    settings, notes = choose_drawing(TrainSettings("", ""), open_curated(with_rejects))
    assert (settings.part, settings.sampler, notes) == ("train", "static", [])


def test_a_set_that_kept_nothing_is_refused_and_its_rejects_are_not_trained_on(
    make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, tmp_path: Path
) -> None:
    rejects = [replace(prompt, split="train") for prompt in prompts_of_ones(20)]
    curated = make_curated(tiny_policy, train=[], others={"rejects": rejects}, columns=LOOKED_AT)
    with pytest.raises(LearnableError, match="kept no prompt to train on"):
        prepare_run(TrainSettings(str(curated), str(tmp_path / "run")))


def test_what_was_chosen_is_resumed(with_rejects: Path, tmp_path: Path) -> None:
    settings = TrainSettings(str(with_rejects), str(tmp_path / "run"), batch_size=32)
    first = prepare_run(settings).settings
    first.write(tmp_path / "run" / "settings.json")
    again = prepare_run(replace(settings, resume=True)).settings
    assert (again.part, again.sampler) == (first.part, first.sampler) == ("pool", "live")


def test_an_earlier_run_on_the_kept_prompts_is_resumed_as_it_began(with_rejects: Path, tmp_path: Path) -> None:
    settings = TrainSettings(str(with_rejects), str(tmp_path / "run"), part="train", batch_size=32)
    prepare_run(settings).settings.write(tmp_path / "run" / "settings.json")
    again = prepare_run(replace(settings, part=None, resume=True)).settings
    assert (again.part, again.sampler) == ("train", "static")


@pytest.fixture
def by_length(tmp_path: Path) -> str:
    """A curriculum of which the rejects, four digits long, are the first stage, and the kept prompts the second."""
    file = tmp_path / "length.toml"
    stages = [("short", 0, 4), ("long", 6, 5), ("huge", 900, 9)]
    tables = [f'[[stages]]\nstage="{n}"\nfrom_step={step}\nknobs={{digits={digits}}}\n' for n, step, digits in stages]
    file.write_text('family="arithmetic"\n' + "".join(tables))
    return str(file)


def test_a_curriculum_says_what_its_stages_have(with_rejects: Path, by_length: str, tmp_path: Path) -> None:
    settings = TrainSettings(str(with_rejects), str(tmp_path / "run"), curriculum=by_length, num_generations=4, steps=9)
    run = prepare_run(replace(settings, batch_size=16))
    assert run.notes[0] == (
        f"curriculum {by_length}, by step: short from step 0 (6 prompts), long from step 6 (8 prompts); "
        "`steps` 9 ends before huge"
    )
    assert (run.settings.sampler, run.settings.has_sampler_state) == ("live", True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"curriculum_by": "success"}, "stage 'huge' has 0 prompts of this set, and a step takes 4"),
        ({"part": "train"}, "stage 'short' has 0 prompts of this set, and a step takes 4"),
        ({"curriculum_by": "luck"}, "`curriculum_by` 'luck' is not known: choose one of step, success"),
        ({"method": "sft"}, "`curriculum` chooses among groups, and `method` sft has none"),
        ({"curriculum": "counting"}, "stage 'few' has 0 prompts"),
        ({"curriculum": "nothing"}, "neither a file nor one of ours"),
    ],
)
def test_a_curriculum_that_the_set_cannot_follow_is_refused(
    with_rejects: Path, by_length: str, tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    usual = {"curriculum": by_length, "num_generations": 4, "batch_size": 16, "steps": 9}
    with pytest.raises(LearnableError, match=message):
        prepare_run(TrainSettings(str(with_rejects), str(tmp_path / "run"), **{**usual, **given}))


def test_a_resumed_run_keeps_its_curriculum(with_rejects: Path, by_length: str, tmp_path: Path) -> None:
    settings = TrainSettings(str(with_rejects), str(tmp_path / "run"), curriculum=by_length, curriculum_by="success")
    settings.write(tmp_path / "run" / "settings.json")
    resumed = resume_settings(TrainSettings(settings.curated, settings.output, resume=True))
    assert (resumed.curriculum, resumed.curriculum_by) == (by_length, "success")
    with pytest.raises(LearnableError, match="`curriculum` counting is not what this run was started with"):
        resume_settings(TrainSettings(settings.curated, settings.output, resume=True, curriculum="counting"))
