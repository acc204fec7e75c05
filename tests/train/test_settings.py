import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.train.file_settings import read_settings
from learnable.train.settings import TrainSettings, usual_learning_rate


def test_settings_survive_the_trip_through_a_file(tmp_path: Path) -> None:
    settings = TrainSettings(curated="c", output="o", steps=3, no_kl=True, lora_rank=8, signal="pass")

    settings.write(tmp_path / "deep" / "settings.json")

    assert read_settings(tmp_path / "deep" / "settings.json") == settings


def test_a_range_of_rewards_survives_and_is_not_written_where_there_is_none(tmp_path: Path) -> None:
    settings = TrainSettings(curated="c", output="o", reward_range=(-1.0, 1.0), scale_rewards="none")
    settings.write(tmp_path / "settings.json")
    assert read_settings(tmp_path / "settings.json") == settings
    assert settings.as_json()["reward_range"] == [-1.0, 1.0]
    new = {"reward_range", "scale_rewards", "allow_silent_reward"}
    assert not new & TrainSettings(curated="c", output="o").as_json().keys()


def test_manifest_fills_what_is_unset_and_nothing_else() -> None:
    manifest = {
        "policy": {"path": "them"},
        "sampling": {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_tokens": 12},
    }

    settings = TrainSettings(curated="c", output="o", temperature=1.2).filled_from(Manifest.from_json(manifest))

    assert settings.policy == "them"
    assert settings.sampling == Sampling(temperature=1.2, top_p=0.9, top_k=5, max_tokens=12)


def test_all_of_a_set_s_sampling_reaches_training_and_comes_back_from_a_file(tmp_path: Path) -> None:
    sampling = Sampling(0.7, 0.9, 5, 12, 0.1, 1.2, ("END",), {"enable_thinking": False})
    manifest = Manifest.from_json({"sampling": sampling.to_json()})
    settings = TrainSettings(curated="c", output="o").filled_from(manifest)
    assert settings.sampling == sampling
    settings.write(tmp_path / "settings.json")
    assert read_settings(tmp_path / "settings.json") == settings
    usual = TrainSettings(curated="c", output="o").filled_from(Manifest.from_json({"sampling": Sampling().to_json()}))
    assert not {"min_p", "repetition_penalty", "stop", "chat_template_kwargs"} & usual.as_json().keys()


def test_a_manifest_without_sampling_leaves_the_usual_one() -> None:
    assert TrainSettings(curated="c", output="o").filled_from(Manifest.from_json({})).sampling == Sampling()


def test_a_margin_of_nothing_survives(tmp_path: Path) -> None:
    settings = TrainSettings(curated="c", output="o", method="dpo", dpo_margin=0.0)
    settings.write(tmp_path / "settings.json")
    assert read_settings(tmp_path / "settings.json") == settings
    assert "dpo_margin" not in TrainSettings(curated="c", output="o").as_json()


def test_a_step_of_pairs_has_as_many_completions_as_one_of_groups() -> None:
    settings = TrainSettings(curated="c", output="o", method="dpo")
    assert (settings.step_size, settings.prompts_per_step, settings.rows_part) == (64, 64, "preferences")
    assert settings.fitted_to(1000).batch_size == 64
    assert settings.fitted_to(40).batch_size == 40


def test_no_kl_wins_over_beta() -> None:
    assert TrainSettings(curated="c", output="o", beta=0.04, no_kl=True).kl_weight == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"curated": "c", "output": "o", "step": 3}', "key 'step' is not known: did you mean 'steps'"),
        ('{"curated": "c"}', "key 'output' is missing"),
        ("{", "is not valid JSON"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.json").write_text(text)

    with pytest.raises(LearnableError, match=message):
        read_settings(tmp_path / "s.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match=r"none\.json"):
        read_settings(tmp_path / "none.json")


def test_settings_are_plain_data() -> None:
    text = json.dumps({"curated": "c", "output": "o"})

    assert TrainSettings(**json.loads(text)).prompts_per_step == 8


def test_larger_policies_learn_more_slowly_and_adapters_faster() -> None:
    assert usual_learning_rate(2_000_000, lora=False) > usual_learning_rate(7_000_000_000, lora=False)
    assert usual_learning_rate(7_000_000_000, lora=True) > usual_learning_rate(7_000_000_000, lora=False)


def test_what_is_measured_survives_and_is_not_written_where_it_is_usual(tmp_path: Path) -> None:
    settings = TrainSettings(curated="c", output="o", held_out="pool", engine_options={"max_model_len": 64})
    settings.write(tmp_path / "settings.json")
    assert read_settings(tmp_path / "settings.json") == settings
    assert not {"held_out", "engine_options"} & TrainSettings(curated="c", output="o").as_json().keys()


@pytest.mark.parametrize(
    ("share", "changes", "batch"),
    [
        (1.0, {}, 128),
        (0.4, {}, 48),
        (0.01, {}, 32),  # two prompts at least
        (0.4, {"num_generations": 64}, 128),
        (0.4, {"num_generations": 100}, 100),  # the usual batch holds one group alone
        (0.4, {"micro_batch_size": 32}, 64),  # whole passes
        (0.4, {"batch_size": 96}, 96),
    ],
)
def test_a_share_of_the_usual_batch_is_whole_groups_and_passes(
    share: float, changes: dict[str, Any], batch: int
) -> None:
    assert TrainSettings(curated="c", output="o", **changes).fitted_to(1000, share).batch_size == batch
