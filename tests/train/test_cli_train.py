"""`learnable train` as it is typed: what it refuses, what it fills in, parts of a set side by side, chats."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from learnable.cli.app import app
from learnable.data.policies import bundled_policy_path, find_policy
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings
from learnable.train.trainers.prompts import add_promise, load_looks, load_prompts

Run = Callable[..., tuple[int, str, str]]
MakeCurated = Callable[..., Path]


@pytest.fixture
def prepared(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TrainSettings]:
    """Run the command up to where training would start; return the settings that it would start with."""

    def prepare(*arguments: object) -> TrainSettings:
        found: list[TrainSettings] = []

        def stop(stage: Any) -> None:
            for note in stage.run.notes:
                stage.watcher.note(note)
            found.append(stage.settings)
            raise SystemExit(0)

        monkeypatch.setattr("learnable.flows.training.stage._Stage.run_all", stop)
        status, _, err = run(*arguments)
        assert (status, len(found)) == (0, 1), err
        return found[0]

    return prepare


@pytest.mark.parametrize("part", ["train", "test", "control"])
def test_a_shard_that_was_exchanged_is_named(
    run: Run, make_curated: MakeCurated, with_digests: Any, prompts_of_ones: Any, tiny_policy: Path, part: str
) -> None:
    curated = make_curated(tiny_policy, others={"control": prompts_of_ones(8, length=4)})
    with_digests(curated)
    other = "test" if part == "train" else "train"
    shutil.copy(curated / f"{other}-00000-of-00001.parquet", curated / f"{part}-00000-of-00001.parquet")

    named = ["--part", "control"] if part == "control" else []
    status, _, err = run("--curated", curated, "--batch-size", "32", *named)

    assert status == 2
    assert f"{part}-00000-of-00001.parquet' is not as its manifest says (its SHA-256 differs): restore it" in err


def test_a_shard_that_is_gone_is_named(
    run: Run, make_curated: MakeCurated, with_digests: Any, tiny_policy: Path
) -> None:
    curated = make_curated(tiny_policy, shards=2)
    with_digests(curated)
    (curated / "train-00001-of-00002.parquet").unlink()

    status, _, err = run("--curated", curated, "--batch-size", "32")

    assert status == 2
    assert "train-00001-of-00002.parquet' is gone: restore it" in err


def test_a_refresh_checks_its_shards_too(
    capfd: pytest.CaptureFixture[str], make_curated: MakeCurated, with_digests: Any, tiny_policy: Path
) -> None:
    curated = make_curated(tiny_policy)
    with_digests(curated)
    shutil.copy(curated / "test-00000-of-00001.parquet", curated / "train-00000-of-00001.parquet")

    with pytest.raises(SystemExit) as ended:
        app(["refresh", "--curated", str(curated), "--policy", str(tiny_policy)])

    assert ended.value.code == 2
    assert "is not as its manifest says" in " ".join(capfd.readouterr().err.split())


def test_a_set_as_it_was_written_passes(
    prepared: Any, make_curated: MakeCurated, with_digests: Any, tiny_policy: Path
) -> None:
    curated = make_curated(tiny_policy, shards=2)
    with_digests(curated)

    assert prepared("--curated", curated).policy == str(tiny_policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--part", "controls"), "--part 'controls' is not known: choose one of train, control, reserve"),
        (("--part", "reserve"), "has no reserve-*.parquet shard: curate it with --preset hard-biased"),
        (("--part", "control", "--method", "sft"), "leave out --part, or give --method grpo"),
        (("--part", "control", "--method", "dpo"), "trains on the preferences of train, and control has none"),
        (("--method", "dpo"), "has no preferences-*.parquet shard: curate it again"),
        (("--preset", "dapo-like", "--method", "dpo"), "--no-kl has no use under --method dpo"),
        (("--method", "sft", "--batch-size", "9"), "has 5 to train on: give --batch-size 5 or less"),
        (("--batch-size", "128"), "takes 8 prompts a step, but"),
        (("--on-alarm", "halt"), "--on-alarm 'halt' is not known: choose one of warn, stop, checkpoint"),
        (("--monitor", "gone.toml"), "--monitor 'gone.toml' cannot be read: No such file or directory; give a TOML"),
    ],
)
def test_what_no_run_can_do_is_refused(
    run: Run, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, arguments: Any, message: str
) -> None:
    few = prompts_of_ones(5)
    curated = make_curated(tiny_policy, train=few, others={"demonstrations": few, "control": few})

    status, _, err = run("--curated", curated, *arguments)

    assert status == 2
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "batch"),
    [
        ((), 5 * 16),
        (("--num-generations", "8"), 5 * 8),
        (("--method", "sft"), 5),
        (("--num-processes", "2", "--micro-batch-size", "8"), 5 * 16),
        (("--num-generations", "4", "--num-processes", "8"), 16),
        (("--batch-size", "32"), 32),
    ],
)
def test_a_batch_fits_the_set_unless_it_is_given(
    prepared: Any, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, arguments: Any, batch: int
) -> None:
    few = prompts_of_ones(5)
    curated = make_curated(tiny_policy, train=few, others={"demonstrations": few})

    assert prepared("--curated", curated, *arguments).batch_size == batch


def test_a_batch_is_the_usual_one_where_the_set_is_large(
    prepared: Any, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path
) -> None:
    curated = make_curated(tiny_policy, train=prompts_of_ones(20))

    assert prepared("--curated", curated).batch_size == 128


def test_parts_train_in_folders_of_their_own(
    prepared: Any, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path
) -> None:
    curated = make_curated(tiny_policy, others={"control": prompts_of_ones(8), "reserve": prompts_of_ones(8)})

    folders = [prepared("--curated", curated.parent, "--part", part).output for part in ("train", "control", "reserve")]

    assert folders == ["runs/ones-train-1", "runs/ones-control-1", "runs/ones-reserve-1"]
    assert prepared("--curated", curated.parent).output == "runs/ones-1"


def test_every_column_reaches_the_reward_function(make_curated: MakeCurated, tiny_policy: Path) -> None:
    curated = make_curated(tiny_policy, columns={"hint": "say one", "completions": "breaks the call"})

    rows = load_prompts(curated, "train")

    assert {"prompt", "verifier", "spec", "hint", "mean"} <= set(rows.column_names)
    assert "completions" not in rows.column_names
    assert rows[0]["hint"] == "say one"


@pytest.mark.parametrize(("signal", "column"), [("reward", "certified_reward"), ("pass", "certified_pass_rate")])
def test_rows_say_what_their_certificates_promise(signal: str, column: str) -> None:
    table = pa.table({"alpha": [3.0, 1.0], "beta": [1.0, 1.0], "p_zero": [0.2, 0.0], "p_one": [0.4, 0.0]})
    rows = add_promise(table, signal)
    assert rows.column_names == [*table.column_names, column]
    assert rows[column].to_pylist() == pytest.approx([0.7, 0.5])
    assert add_promise(table.drop_columns("alpha"), signal).column_names == ["beta", "p_zero", "p_one"]


def test_chats_need_a_template(
    run: Run, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, tmp_path: Path
) -> None:
    bare = shutil.copytree(tiny_policy, tmp_path / "bare")
    for template in bare.glob("chat_template*"):
        template.unlink()
    config = bare / "tokenizer_config.json"
    config.write_text(json.dumps({k: v for k, v in json.loads(config.read_text()).items() if k != "chat_template"}))
    curated = make_curated(tiny_policy, train=prompts_of_ones(8, chat=True), test=prompts_of_ones(8, chat=True))

    status, _, err = run("--curated", curated, "--policy", bare)

    assert status == 2
    assert "holds chats, but the tokenizer of policy" in err
    assert bundled_policy_path().joinpath("chat_template.jinja").is_file()  # so the bundled one takes chats


SMALL = (
    "--steps",
    2,
    "--num-generations",
    4,
    "--eval-group-size",
    4,
    "--eval-k",
    2,
    "--max-completion-length",
    3,
    "--json",
)


def finish_with_seed(seed: int, finished: Path, folder: Path) -> None:
    """Leave in `folder` what a run like `finished`, but with another seed, would leave: resuming it starts nothing."""
    shutil.copytree(finished, folder)
    for name in ("settings.json", "before-settings.json", "after-settings.json"):
        values = json.loads((finished / name).read_text().replace(str(finished), str(folder)))
        (folder / name).write_text(json.dumps({**values, "seed": seed}))


def list_answers(store: Path, policy: Path) -> set[Path]:
    """Return the files of a policy's answers in the evaluations of a store."""
    weights = find_policy(str(policy)).policy_id.rpartition("@")[2]
    return set((store / "evaluations").rglob(f"rollouts/{weights}/**/*.parquet"))


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_a_control_is_one_flag_away(
    run: Run, make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, tmp_path: Path
) -> None:
    chats = {part: prompts_of_ones(8, length=length, chat=True) for part, length in (("train", 5), ("control", 4))}
    curated = make_curated(
        tiny_policy,
        train=chats["train"],
        test=prompts_of_ones(16, length=6, chat=True),
        others={"control": chats["control"], "demonstrations": chats["train"]},
        columns={"hint": "say one"},
    )

    def report(*arguments: object) -> Any:
        status, out, err = run("--curated", curated.parent, *SMALL, *arguments)
        assert status == 0, err
        return json.loads(out)

    train = report()
    answered = list_answers(tmp_path, tiny_policy)
    control = report("--part", "control")
    assert train["comparisons"] == []
    assert Path(control["trained_policy"]).parts[:2] == ("runs", "ones-control-1")
    same = [run["held_out"]["mean_reward"]["before"] for run in (train, control)]
    assert same[0] == same[1]  # the same completions, made once
    assert answered
    assert list_answers(tmp_path, tiny_policy) == answered
    [comparison] = control["comparisons"]
    assert [comparison[run]["part"] for run in ("first", "second")] == ["train", "control"]
    assert comparison["first"]["mean_reward"] == train["held_out"]["mean_reward"]
    assert comparison["second"]["mean_reward"] == control["held_out"]["mean_reward"]
    after = [run["held_out"]["mean_reward"]["after"]["value"] for run in (train, control)]
    assert comparison["difference"]["value"] == pytest.approx(after[0] - after[1])
    assert comparison["prompts"] == 16

    finish_with_seed(7, Path("runs/ones-control-1"), Path("runs/ones-control-2"))
    other = report("--part", "control", "--seed", 7, "--output", "runs/ones-control-2", "--resume")
    assert other["comparisons"] == []
    assert "seed 0 there, 7 here" in other["not_compared"][0]

    assert report("--method", "sft", "--no-evaluate")["training"]["steps"] == 2


def test_settings_of_a_part_are_plain_data() -> None:
    settings = TrainSettings(curated="c", output="", part="control", families=("a",))

    assert json.loads(json.dumps(settings.as_json())) == settings.as_json()
    assert replace(settings, batch_size=None).step_size == 128


def test_a_kl_weight_that_is_typed_counts_against_a_preset_without_one(
    prepared: Callable[..., TrainSettings], make_curated: MakeCurated
) -> None:
    curated = make_curated(bundled_policy_path())
    settings = prepared("--curated", curated, "--preset", "dr-grpo-like", "--batch-size", 32, "--beta", 0.02)

    assert (settings.kl_weight, settings.loss_type, settings.scale_rewards) == (0.02, "dr_grpo", "none")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("--preset", "dapo"), "did you mean 'dpo' or 'dapo-like'"),
        (("--trl", "epsilon"), "--trl 'epsilon' is not key=value"),
        (("--trl", "beta=0"), "--trl beta=0: give --beta for it"),
        (("--sampler", "life"), "--sampler 'life' is not known: choose one of static, live"),
    ],
)
def test_presets_and_settings_that_there_are_not(
    run: Run, make_curated: MakeCurated, typed: tuple[str, ...], message: str
) -> None:
    status, _, err = run("--curated", make_curated(bundled_policy_path()), *typed)

    assert status == 2
    assert message in err


def test_rewards_are_mapped_and_scaled_as_typed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[TrainSettings] = []

    def stop(settings: TrainSettings, **_: object) -> None:
        typed.append(settings)
        raise SystemExit(0)

    monkeypatch.setattr("learnable.flows.launch.run_training", stop)
    assert run("--curated", "x", "--reward-range", "-1", "1", "--scale-rewards", "none")[0] == 0
    assert run("--curated", "x", "--allow-silent-reward")[0] == 0
    assert [settings.reward_range for settings in typed] == [(-1.0, 1.0), None]
    assert [settings.scale_rewards for settings in typed] == ["none", None]
    assert [settings.allow_silent_reward for settings in typed] == [False, True]


def test_rules_of_ones_own_are_read_before_anything_starts(
    prepared: Callable[..., TrainSettings], make_curated: MakeCurated, tiny_policy: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[rules.kl]\nabove = 0.25\n")
    curated = make_curated(tiny_policy)
    flags = ("--monitor", file, "--on-alarm", "stop", "--eval-steps", "5")
    settings = prepared("--curated", curated, "--batch-size", "32", *flags)
    assert (settings.monitor, settings.on_alarm, settings.eval_steps) == (str(file), "stop", 5)
    run = prepare_run(replace(settings, output=str(tmp_path / "other")))
    assert {rule.name: rule.limit for rule in run.rules}["kl"] == 0.25
    looks = load_looks(run.curated, (), batch=2)
    assert {name: set(rows["held_out"]) for name, rows in looks.items()} == {"held_out": {"held_out"}}


def test_a_look_takes_mastered_prompts_beside_the_kept_ones(
    make_curated: MakeCurated, prompts_of_ones: Any, tiny_policy: Path, tmp_path: Path
) -> None:
    easy = [replace(prompt, split="test") for prompt in prompts_of_ones(20, length=5)]
    columns = {"decision": "too_easy", "pass_rate": 1.0}
    curated = make_curated(tiny_policy, others={"rejects": easy}, columns=columns)
    run = prepare_run(TrainSettings(curated=str(curated), output=str(tmp_path / "run"), batch_size=32, eval_steps=5))
    looks = load_looks(run.curated, (), batch=2)
    assert {name: (len(rows), set(rows["held_out"])) for name, rows in looks.items()} == {
        "held_out": (16, {"held_out"}),
        "review": (16, {"review"}),
    }
    assert set(looks["review"]["prompt"]) <= {prompt.prompt for prompt in easy}
