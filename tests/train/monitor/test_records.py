"""What is kept of TRL's logs, as JSON Lines and as Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from learnable.train.monitor.records import (
    MetricsFile,
    StepRecord,
    find_first_reach,
    read_metrics,
    total_epochs,
    write_table,
)

DEAD = {"frac_reward_zero_std": 0.25}


def test_record_keeps_what_matters_under_short_names() -> None:
    logs = {
        "reward": 0.5,
        "completions/mean_length": 4.0,
        "clip_ratio/low_mean": 0.0,
        "clip_ratio/region_mean": 0.1,
        "rewards/verifier_reward/mean": 0.5,
        "rewards/verifier_reward/within_group_std": 0.3,
        "component/poetry/rhyme": 0.2,
    }

    assert StepRecord.from_logs(3, logs).to_json() == {
        "step": 3,
        "reward": 0.5,
        "completion_length": 4.0,
        "clipped_tokens": 0.1,
        "within_group_std": 0.3,
        "components": {"poetry/rhyme": 0.2},
    }


def test_preferences_are_kept_and_are_no_rewards() -> None:
    logs = {
        "loss": 0.6,
        "rewards/margins": 0.5,
        "rewards/accuracies": 0.75,
        "rewards/chosen": 0.1,
        "logps/chosen": -9.0,
    }
    assert StepRecord.from_logs(3, logs).to_json() == {
        "step": 3,
        "loss": 0.6,
        "preference_margin": 0.5,
        "preference_accuracy": 0.75,
        "chosen_logprob": -9.0,
    }


def test_a_look_at_held_out_prompts_is_a_record_of_its_own() -> None:
    logs = {
        "eval_loss": 0.1,
        "eval_reward": 0.4,
        "eval_held_out/mastered_share": 0.25,
        "eval_held_out/forgotten_share": 0.125,
        "eval_rewards/verifier_reward/within_group_std": 0.3,
        "eval_component/poetry/rhyme": 0.2,
    }
    assert StepRecord.from_logs(5, logs).to_json() == {
        "step": 5, "eval_reward": 0.4, "eval_mastered_share": 0.25, "eval_forgotten_share": 0.125,
    }  # fmt: skip


def test_a_look_at_mastered_prompts_is_not_taken_for_one_at_others() -> None:
    logs = {"eval_reward": 0.9, "eval_review/mastered_share": 0.75, "eval_review/forgotten_share": 0.125, "loss": 0.5}
    logs |= {"eval_rewards/verifier_reward/reward_gain": -0.07}
    record = StepRecord.from_logs(5, logs)
    assert record.to_json() == {
        "step": 5, "review_reward": 0.9, "review_forgotten_share": 0.125, "review_gain": -0.07,
    }  # fmt: skip
    assert record.is_look
    assert record.mapped_back(-1, 1).read("review_reward") == pytest.approx(0.95)


def test_metrics_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    metrics.write(StepRecord(1, {"reward": 0.5}))

    assert read_metrics(tmp_path / "metrics.jsonl") == [StepRecord(1, {"reward": 0.5})]
    metrics.close()


def test_a_resumed_run_takes_back_the_steps_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": step}) + "\n" for step in (1, 2, 3)))
    metrics = MetricsFile(path, from_step=2)
    metrics.write(StepRecord(3, {"reward": 1.0}))
    metrics.close()

    assert [record.step for record in read_metrics(path)] == [1, 2, 3]
    assert read_metrics(path)[-1].read("reward") == 1.0


def test_a_fresh_run_starts_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    MetricsFile(tmp_path / "metrics.jsonl").close()

    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "rew')

    assert read_metrics(path) == [StepRecord(1)]
    MetricsFile(path, from_step=1).close()
    assert read_metrics(path) == [StepRecord(1)]


def test_rewards_are_kept_from_0_to_1_whatever_trl_was_given() -> None:
    logs = {"reward": 0.0, "reward_std": 0.8, "eval_reward": -1.0, "kl": 0.1, "loss": 0.2}
    record = StepRecord.from_logs(3, logs).mapped_back(-1.0, 1.0)
    assert record.to_json() == {
        "step": 3, "loss": 0.2, "reward": 0.5, "reward_std": 0.4, "kl": 0.1, "eval_reward": 0.0,
    }  # fmt: skip
    assert StepRecord.from_logs(3, {"reward": None, "kl": 0.1}).mapped_back(-1.0, 1.0).read("reward") is None  # type: ignore[dict-item]  # as TRL logs it


def test_the_table_has_a_row_a_log_and_a_column_for_each_name(tmp_path: Path) -> None:
    records = [
        StepRecord(1, {"reward": 0, "kl": None}, {"poetry/rhyme": 1}),
        StepRecord(2, {"reward": 0.5, "kl": 0.1}),
        StepRecord(2, {"eval_reward": float("nan")}),
    ]
    write_table(records, tmp_path / "metrics.parquet")
    table = pl.read_parquet(tmp_path / "metrics.parquet")
    assert table["step"].to_list() == [1, 2, 2]
    assert table["reward"].to_list() == [0.0, 0.5, None]
    assert table["kl"].to_list() == [None, 0.1, None]
    assert table["components/poetry/rhyme"].to_list() == [1.0, None, None]
    assert table["eval_reward"].is_nan().to_list() == [None, None, True]
    assert set(table.dtypes) == {pl.Int64, pl.Float64}
    write_table([], tmp_path / "metrics.parquet")
    assert pl.read_parquet(tmp_path / "metrics.parquet").columns == ["step"]


def test_what_trl_and_the_trainer_say_of_ratios_is_passed_on() -> None:
    logs = {
        "reward": 0.5,
        "epoch": 0.25,
        "importance_ratio/mean": 1.01,
        "importance_ratio/min": 0.4,
        "importance_ratio/max": 2.5,
        "sampling/importance_sampling_ratio/mean": 0.99,
        "sampling/importance_sampling_ratio/max": 1.9,
    }
    assert StepRecord.from_logs(3, logs).to_json() == {
        "step": 3,
        "reward": 0.5,
        "epoch": 0.25,
        "importance_ratio": 1.01,
        "importance_ratio_min": 0.4,
        "importance_ratio_max": 2.5,
        "engine_ratio": 0.99,
        "engine_ratio_max": 1.9,
    }


def test_stages_and_their_shares_are_kept() -> None:
    logs = {"reward": 0.5, "sampler/stage": 2.0, "sampler/stage_success": 0.6, "sampler/stage_share/ten": 0.2}
    assert StepRecord.from_logs(1, logs).metrics == {
        "reward": 0.5,
        "stage": 2.0,
        "stage_success": 0.6,
        "stage_share/ten": 0.2,
    }


def test_epochs_are_added_up() -> None:
    steps = [
        StepRecord(n, {"reward": n / 10, "epoch": n / 2, "num_tokens": 100.0 * n, "step_seconds": 2.0, **DEAD})
        for n in range(1, 6)
    ]
    look = StepRecord(2, {"eval_reward": 0.9, "epoch": 1.0})
    first, second, third = total_epochs([*steps[:2], look, *steps[2:], StepRecord(5, {"loss": 1.0, "epoch": 2.5})])
    assert (first.epoch, first.steps, first.tokens, first.seconds) == (1, 2, 200, 4.0)
    assert first.reward == pytest.approx(0.15)
    assert (second.steps, second.tokens, third.epoch, third.steps, third.tokens) == (2, 200, 3, 1, 100)
    assert third.zero_std_share == 0.25
    assert total_epochs([StepRecord(1, {"reward": 1.0})]) == []


def test_the_first_look_at_which_a_share_passes() -> None:
    looks = [
        StepRecord(step, {"eval_reward": 0.1, "eval_pass_rate": rate})
        for step, rate in ((5, 0.4), (10, 0.7), (15, 0.6))
    ]
    assert [find_first_reach([StepRecord(1, {"reward": 1.0}), *looks], share) for share in (0.3, 0.7, 0.71)] == [
        5,
        10,
        None,
    ]
