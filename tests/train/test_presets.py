from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.train.preflight.bounds import check_numbers
from learnable.train.presets import explain_settings, find_train_preset, list_train_presets
from learnable.train.settings import Method, TrainSettings
from learnable.train.trl_options import check_trl_options

NAMES = list_train_presets()


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_preset_gives_settings_that_can_work_each_with_its_reason(name: str) -> None:
    preset = find_train_preset(name)
    assert preset.title
    assert preset.source
    assert all(choice.why for choice in preset.settings.values())
    check_numbers(TrainSettings(curated="set", output="run", **preset.values))


@pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in NAMES if "trl" in find_train_preset(name).settings])
def test_the_installed_trl_knows_what_a_preset_gives_it(name: str) -> None:
    check_trl_options(find_train_preset(name).values["trl"], "grpo")


@pytest.mark.parametrize(("name", "method"), [("usual", "grpo"), ("usual", "sft"), ("dpo", "dpo")])
def test_what_is_usual_is_what_the_settings_say(name: str, method: Method) -> None:
    filled = TrainSettings(curated="", output="", method=method).filled_from(Manifest.from_json({}))
    values = find_train_preset(name).values
    assert values == {name: getattr(filled, name) for name in values}
    assert values["beta"] == TrainSettings(curated="", output="", method=method).kl_weight


def test_published_figures() -> None:
    assert find_train_preset("deepseek-math").values == {
        "num_generations": 64,
        "batch_size": 1024,
        "learning_rate": 1e-6,
        "beta": 0.04,
        "max_completion_length": 1024,
    }


def test_a_preset_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[settings]\nsteps = { value = 7, why = "a try" }\n')
    assert find_train_preset(str(file)).values == {"steps": 7}
    file.write_text("[settings]\nsteps = 7\n")
    with pytest.raises(LearnableError, match=r"steps = 7 cannot work: give \{ value = \.\.\., why"):
        find_train_preset(str(file))
    file.write_text('[settings]\nstep = { value = 7, why = "a try" }\n')
    with pytest.raises(UnknownNameError, match="steps"):
        find_train_preset(str(file))
    with pytest.raises(UnknownNameError, match="mini-r1"):
        find_train_preset("mini-r2")
    with pytest.raises(LearnableError, match=r"gone\.toml"):
        find_train_preset("gone.toml")


def test_each_setting_is_explained() -> None:
    preset = find_train_preset("mini-r1")
    wanted = TrainSettings(curated="set", output="", **{**preset.values, "steps": 9})
    filled = TrainSettings(curated="set", output="runs/set-1", **{**preset.values, "steps": 9}, temperature=0.8)
    rows = {row.name: row for row in explain_settings(wanted, filled, {"curated": "set", "steps": 9}, preset)}
    assert (rows["steps"].value, rows["steps"].source) == (9, "typed")
    assert (rows["beta"].value, rows["beta"].source) == (0.001, "mini-r1")
    assert rows["beta"].why
    assert (rows["temperature"].value, rows["temperature"].source) == (0.8, "the set")
    assert rows["signal"].source == "usual"
    assert rows["signal"].why
    assert "dpo_margin" not in rows
    assert set(rows) <= {field.name for field in fields(TrainSettings)}


def test_what_dpo_has_another_value_of_is_explained() -> None:
    wanted = TrainSettings(curated="set", output="", method="dpo", dpo_margin=0.5)
    filled = wanted.filled_from(Manifest.from_json({}))
    rows = {row.name: row for row in explain_settings(wanted, filled, {"method": "dpo", "dpo_margin": 0.5}, None)}
    assert (rows["beta"].value, rows["beta"].source) == (0.1, "usual")
    assert rows["beta"].why == find_train_preset("dpo").settings["beta"].why
    assert (rows["dpo_margin"].value, rows["dpo_margin"].source) == (0.5, "typed")
