import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings
from learnable.verifiers.registry import find_verifier

MakeCurated = Callable[..., Path]
Prompts = Callable[..., list[Prompt]]


@pytest.fixture
def curated(make_curated: MakeCurated, tiny_policy: Path) -> Path:
    return make_curated(tiny_policy, shards=2)


@pytest.fixture
def settings(curated: Path, tmp_path: Path) -> TrainSettings:
    return TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8, steps=4)


def test_a_sound_run_is_filled_from_the_manifest(settings: TrainSettings, tiny_policy: Path) -> None:
    run = prepare_run(settings)

    assert run.warnings == ()
    assert run.settings.policy == str(tiny_policy)
    assert run.settings.max_completion_length == 3
    assert run.policy.path == str(tiny_policy)


def test_preparing_twice_changes_nothing(settings: TrainSettings) -> None:
    once = prepare_run(settings)

    assert prepare_run(once.settings).settings == once.settings


def test_the_folder_of_all_versions_will_do(settings: TrainSettings, curated: Path) -> None:
    assert prepare_run(replace(settings, curated=str(curated.parent))).curated.path == curated


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_generations": 1}, "`num_generations` 1 leaves no advantage"),
        ({"families": ("arithmetik",)}, "unknown family of .*'arithmetik': did you mean 'arithmetic'"),
        ({"batch_size": 30}, "`batch_size` 30 does not divide by `num_generations` 8.*give 24 or 32"),
        ({"batch_size": 4}, "give 8$"),
        ({"micro_batch_size": 12}, "does not divide by 12"),
        ({"num_processes": 3}, "does not divide by 30"),
        ({"beta": 0.0}, "`beta` 0 switches the KL term off.*collapse|recover"),
        ({"beta": -0.1}, "`beta` -0.1"),
        ({"loss_type": "ppo"}, "`loss_type` 'ppo' is not known"),
        ({"sampler": "hot"}, "`sampler` 'hot' is not known: choose one of static, live"),
        ({"sampler": "live", "method": "sft"}, "`sampler` live chooses among groups, and `method` sft has none"),
        ({"signal": "passed"}, "`signal` 'passed' is not known: choose one of reward, pass"),
        ({"reward_range": (1.0, -1.0)}, "`reward_range` 1 -1 is no range: .* as -1 1"),
        ({"reward_range": (0.0, float("inf"))}, "`reward_range` 0 inf is no range"),
        ({"scale_rewards": "groups"}, "`scale_rewards` 'groups' is not known: choose one of group, batch, none"),
        ({"eval_k": 17}, "`eval_k` 17 needs as many completions"),
        ({"steps": 0}, "`steps` 0 is out of range: give 1 or more"),
        ({"temperature": 0.0}, "`temperature` 0 is out of range: give more than 0"),
        ({"learning_rate": -1e-4}, "`learning_rate` -0.0001 is out of range"),
        ({"batch_size": 128}, "takes 16 prompts a step, but .* has 8 to train on: give `batch_size` 64 or less"),
        ({"max_completion_length": 60}, r"the longest prompt \(7 tokens\) pass the context of 64.*57 or less"),
        ({"curated": "nowhere"}, "curated set 'nowhere' does not exist"),
        ({"policy": "./nowhere"}, "policy 'nowhere' does not exist"),
    ],
)
def test_what_cannot_work_is_refused_with_a_way_out(
    settings: TrainSettings, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(LearnableError, match=message):
        prepare_run(replace(settings, **change))


def test_beta_may_be_zero_when_no_kl_is_said(settings: TrainSettings) -> None:
    [warning] = prepare_run(replace(settings, beta=0.0, no_kl=True)).warnings

    assert "without a KL term" in warning


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_generations": 4}, "`num_generations` 4 is small: at a pass rate of 0.25, 32% of groups"),
        ({"max_completion_length": 2}, "below the 3 tokens of the curation"),
        ({"steps": 400}, "visit each of 8 prompts 200 times"),
    ],
)
def test_what_will_disappoint_is_said_aloud(settings: TrainSettings, change: dict[str, Any], words: str) -> None:
    [warning] = prepare_run(replace(settings, **change)).warnings

    assert words in warning


def test_another_policy_than_the_curated_one_is_said_aloud(
    settings: TrainSettings, tiny_policy: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_policy, other)
    config = other / "config.json"
    config.write_text(config.read_text().replace("{", '{"note": "moved",', 1))

    [warning] = prepare_run(replace(settings, policy=str(other))).warnings

    assert "the set was curated for tiny@" in warning


def test_a_policy_without_weights_is_refused(settings: TrainSettings, tmp_path: Path) -> None:
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "config.json").write_text("{}")

    with pytest.raises(LearnableError, match="has no weights"):
        prepare_run(replace(settings, policy=str(tmp_path / "hollow")))


def test_a_set_without_train_shards_is_refused(settings: TrainSettings, curated: Path) -> None:
    for shard in curated.glob("train-*"):
        shard.unlink()

    with pytest.raises(LearnableError, match=r"has no train-\*\.parquet"):
        prepare_run(settings)


def test_a_set_that_kept_nothing_is_refused(make_curated: MakeCurated, tiny_policy: Path, tmp_path: Path) -> None:
    curated = make_curated(tiny_policy, train=[])

    with pytest.raises(LearnableError, match="kept no prompt to train on: widen `band`"):
        prepare_run(TrainSettings(curated=str(curated), output=str(tmp_path / "run")))


def test_an_empty_test_split_is_refused_unless_nothing_is_evaluated(
    make_curated: MakeCurated, tiny_policy: Path, tmp_path: Path
) -> None:
    curated = make_curated(tiny_policy, test=[])
    settings = TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8)

    with pytest.raises(LearnableError, match=r"holds out no test prompts.*`evaluate=False`"):
        prepare_run(settings)
    assert prepare_run(replace(settings, evaluate=False)).settings.evaluate is False


def test_few_held_out_prompts_are_said_aloud(
    make_curated: MakeCurated, prompts_of_ones: Prompts, tiny_policy: Path, tmp_path: Path
) -> None:
    curated = make_curated(tiny_policy, test=prompts_of_ones(3, length=6))
    settings = TrainSettings(
        curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8, steps=4
    )

    [warning] = prepare_run(settings).warnings

    assert "only 3 held-out prompts" in warning


def test_a_missing_column_is_named_with_its_shard(settings: TrainSettings, curated: Path) -> None:
    shard = sorted(curated.glob("train-*"))[1]
    table = pq.read_table(shard)
    pq.write_table(table.rename_columns([{"spec": "specs"}.get(name, name) for name in table.column_names]), shard)

    with pytest.raises(LearnableError, match=r"train-00001-of-00002\.parquet' has no column 'spec'.*rename 'specs'"):
        prepare_run(settings)


def test_a_verifier_that_does_not_exist_is_named(
    make_curated: MakeCurated, prompts_of_ones: Prompts, tiny_policy: Path, tmp_path: Path
) -> None:
    wrong = [replace(prompt, verifier="arithmetics") for prompt in prompts_of_ones(8)]
    curated = make_curated(tiny_policy, train=wrong)

    with pytest.raises(LearnableError, match=r"train-00000-of-00001.*unknown verifier 'arithmetics': did you mean"):
        prepare_run(TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8))


def test_a_verifier_that_is_another_than_in_the_curation_is_warned_of(
    make_curated: MakeCurated, prompts_of_ones: Prompts, tiny_policy: Path, tmp_path: Path
) -> None:
    judge, unchanged = tmp_path / "judge.py", "arithmetic"
    judge.write_text("def score(completions, **kwargs):\n    return [0.0 for _ in completions]\n")
    name = f"{judge}:score"
    versions = {name: "0123456789ab", unchanged: find_verifier(unchanged).version, "poetry": "of no prompt"}
    train = [replace(prompt, verifier=name) for prompt in prompts_of_ones(8)]
    curated = make_curated(tiny_policy, train=train, verifiers=versions)
    settings = TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8)
    run = prepare_run(replace(settings, steps=4, verifiers=(name,)))
    [warning] = run.warnings
    assert warning.startswith(f"verifier {name!r} has changed: the set was curated with its version 0123456789ab, and ")
    assert f" {find_verifier(name).version} gives the rewards here" in warning


def test_a_broken_shard_is_named(settings: TrainSettings, curated: Path) -> None:
    (curated / "train-00000-of-00002.parquet").write_bytes(b"not parquet")

    with pytest.raises(LearnableError, match=r"train-00000-of-00002\.parquet' is not readable Parquet"):
        prepare_run(settings)


def test_chat_prompts_are_measured_too(
    make_curated: MakeCurated, prompts_of_ones: Prompts, tiny_policy: Path, tmp_path: Path
) -> None:
    curated = make_curated(tiny_policy, train=prompts_of_ones(8, chat=True), test=prompts_of_ones(8, chat=True))
    settings = TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8)

    with pytest.raises(LearnableError, match=r"the longest prompt \(6 tokens\)"):
        prepare_run(replace(settings, max_completion_length=60))


def test_an_output_that_is_a_file_is_refused(settings: TrainSettings, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")

    with pytest.raises(LearnableError, match="cannot be made"):
        prepare_run(settings)


def test_an_output_that_cannot_be_written_is_refused(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(LearnableError, match="cannot be written: choose another `output`"):
        prepare_run(settings)


def test_an_output_with_another_run_in_it_is_not_overwritten(settings: TrainSettings) -> None:
    settings.folder.mkdir()
    (settings.folder / "metrics.jsonl").write_text("")

    with pytest.raises(LearnableError, match="already holds a training run: go on with `resume`"):
        prepare_run(settings)


def test_resume_takes_up_the_settings_the_run_began_with(settings: TrainSettings) -> None:
    replace(settings, learning_rate=1e-3, seed=5).write(settings.folder / "settings.json")
    bare = TrainSettings(curated=settings.curated, output=settings.output, resume=True, steps=9)

    resumed = prepare_run(bare).settings

    assert (resumed.learning_rate, resumed.seed, resumed.batch_size) == (1e-3, 5, 32)
    assert resumed.steps == 9
    assert resumed.resume


def test_resume_refuses_to_become_another_run(settings: TrainSettings) -> None:
    settings.write(settings.folder / "settings.json")

    with pytest.raises(LearnableError, match=r"`learning_rate` 0\.5 is not what this run was started with"):
        prepare_run(replace(settings, resume=True, learning_rate=0.5))


def test_there_must_be_something_to_resume(settings: TrainSettings) -> None:
    with pytest.raises(LearnableError, match="holds no training run: leave `resume` out"):
        prepare_run(replace(settings, resume=True))


def test_what_another_range_of_rewards_changes_is_noted(settings: TrainSettings) -> None:
    assert not any("`reward_range`" in note for note in prepare_run(settings).notes)
    mapped = replace(settings, reward_range=(-1.0, 1.0))
    [note] = prepare_run(mapped).notes
    assert note.startswith("`reward_range` -1 1 changes no step")
    [note] = prepare_run(replace(mapped, scale_rewards="none")).notes
    assert note == "`reward_range` -1 1 with `scale_rewards` none: advantages are 2 times those of rewards from 0 to 1"


SILENT = {"code": "silent_reward", "subject": "arithmetic: form", "forms": ["Ones"], "text": "form never fires"}


def test_a_silent_reward_is_refused_where_it_is_trained_on(
    make_curated: MakeCurated, tiny_policy: Path, tmp_path: Path
) -> None:
    other = {"code": "no_spread", "subject": "arithmetic", "forms": [], "text": "no spread"}
    curated = make_curated(tiny_policy, others={"demonstrations": []}, findings=[other, SILENT])
    settings = TrainSettings(
        curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8, steps=4
    )
    for families in ((), ("arithmetic",)):
        with pytest.raises(LearnableError, match=r"curated set '.*': form never fires"):
            prepare_run(replace(settings, families=families))
    assert prepare_run(replace(settings, allow_silent_reward=True)).warnings == ("form never fires",)
    assert prepare_run(replace(settings, signal="pass")).warnings == ()
    with pytest.raises(LearnableError, match="has no demonstration"):  # supervised training looks at no reward
        prepare_run(replace(settings, method="sft", batch_size=None))


def test_a_silent_reward_of_another_family_does_not_matter(
    make_curated: MakeCurated, tiny_policy: Path, tmp_path: Path
) -> None:
    curated = make_curated(tiny_policy, findings=[{**SILENT, "subject": "sums: form"}])
    settings = TrainSettings(
        curated=str(curated), output=str(tmp_path / "run"), batch_size=32, num_generations=8, steps=4
    )
    assert prepare_run(replace(settings, families=("arithmetic",))).warnings == ()
    with pytest.raises(LearnableError, match="form never fires"):
        prepare_run(settings)


def test_an_adapter_is_trained_on_as_it_is(settings: TrainSettings, tiny_policy: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    told = {"base_model_name_or_path": str(tiny_policy), "peft_type": "LORA", "r": 2}
    (adapter / "adapter_config.json").write_text(json.dumps(told))
    (adapter / "adapter_model.safetensors").write_bytes(b"adapter")
    run = prepare_run(replace(settings, policy=str(adapter)))
    assert (run.policy.path, run.policy.adapter, run.trains_adapter) == (str(tiny_policy), str(adapter), True)
    assert "the set was curated for tiny@" in run.warnings[0]
    with pytest.raises(LearnableError, match=r"is a LoRA adapter over .*: leave out `lora_rank` 4"):
        prepare_run(replace(settings, policy=str(adapter), lora_rank=4))
    assert not prepare_run(settings).trains_adapter
    assert prepare_run(replace(settings, lora_rank=4)).trains_adapter


def test_the_pool_is_trained_on_and_its_rejects_count_as_held_out(
    make_curated: MakeCurated, prompts_of_ones: Prompts, tiny_policy: Path, tmp_path: Path
) -> None:
    others = prompts_of_ones(12, length=7)
    rejects = [replace(prompt, split="test" if index < 5 else "train") for index, prompt in enumerate(others)]
    curated = make_curated(tiny_policy, test=[], others={"rejects": rejects}, columns={"decision": "too_hard"})
    settings = TrainSettings(str(curated), str(tmp_path / "run"), part="pool", held_out="pool", num_generations=2)
    run = prepare_run(settings)
    assert run.settings.batch_size == 30  # of 2 completions for each of 8 kept prompts and 7 rejected ones
    assert "only 5 held-out prompts: too few to tell a change from chance" in run.warnings
    with pytest.raises(LearnableError, match="holds out no test prompts"):
        prepare_run(replace(settings, output=str(tmp_path / "other"), held_out="kept"))


def test_an_option_of_the_evaluation_s_engine_is_checked_before_anything_starts(settings: TrainSettings) -> None:
    with pytest.raises(LearnableError, match="`engine_options` model has no use here"):
        prepare_run(replace(settings, engine_options={"model": "x"}))
    with pytest.raises(LearnableError, match="`held_out` 'all' is not known: choose one of kept, pool"):
        prepare_run(replace(settings, held_out="all"))
