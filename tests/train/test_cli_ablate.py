"""`learnable ablate` as it is typed: what it lists, plans, trains and refuses."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnable.cli.app import app
from learnable.data.errors import LearnableError
from learnable.train.settings import TrainSettings
from tests.support.ablation_runs import write_run

Run = Callable[..., tuple[int, str, str]]
FILE = 'seeds = [0, 1]\nat_step = 2\n[base]\nbatch_size = 32\n[[run]]\nname = "static"\n'
FILE += '[[run]]\nname = "live"\nsampler = "live"\n'


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `learnable ablate ...` in a temporary folder; return exit status, stdout, and stderr on one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(FILE)

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            app(["ablate", *map(str, arguments)])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return run


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[TrainSettings, bool]]:
    """Let runs write folders instead of training; those of seed 1 with the live sampler fail. Return what was given."""
    seen: list[tuple[TrainSettings, bool]] = []

    def train(settings: TrainSettings, *, use_prefect: bool) -> None:
        seen.append((settings, use_prefect))
        if settings.sampler == "live" and settings.seed == 1:
            raise LearnableError("boom")
        prompts = [json.loads(line)["prompt_id"] for line in Path("ids.jsonl").read_text().splitlines()]
        after = dict.fromkeys(prompts, 0.75 if settings.sampler == "live" else 0.5)
        write_run(settings, dict.fromkeys(prompts, 0.25), after, [{"reward": 0.5, "completion_length": 3.0}] * 2)
        (settings.folder / "training.json").write_text(
            '{"steps": 2, "resumed_from": 0, "trained_parameters": 1, "learning_rate": 1e-4, "seconds": 3.0}'
        )

    monkeypatch.setattr("learnable.flows.ablating.run_training", train)
    return seen


def test_shipped_ablations_are_listed_and_shown(run: Run) -> None:
    status, out, _ = run("--list")
    assert status == 0
    assert "samplers" in out
    listed = json.loads(run("--list", "--json")[1])
    assert (listed[6]["name"], listed[6]["runs"]) == ("samplers", 5)
    assert tomllib.loads(run("samplers", "--show")[1])["base"]["held_out"] == "pool"


def test_a_dry_run_says_what_would_be_made_and_trains_nothing(
    run: Run, make_curated: Any, tiny_policy: Path, trained: list[tuple[TrainSettings, bool]]
) -> None:
    curated = make_curated(tiny_policy)

    status, out, _ = run("mine.toml", "--curated", curated, "--dry-run")

    assert status == 0
    assert "sampler=live" in out
    assert "256 completions are to be trained on; 16 held-out prompts are compared" in out
    plan = json.loads(run("mine.toml", "--curated", curated, "--dry-run", "--json")[1])
    first = plan["runs"][0]
    assert (first["completions"], first["evaluated"], first["state"]) == (64, 2 * 16 * 17, "new")
    assert first["folder"] == "runs/ablation-mine/static-seed-0"
    assert trained == []
    assert not Path("runs").exists()


def test_runs_end_in_a_table_and_one_that_failed_ends_the_command_with_2(
    run: Run, make_curated: Any, tiny_policy: Path, trained: list[tuple[TrainSettings, bool]], prompts_of_ones: Any
) -> None:
    curated = make_curated(tiny_policy)
    ids = [json.dumps({"prompt_id": prompt.prompt_id}) for prompt in prompts_of_ones(16, length=6)]
    Path("ids.jsonl").write_text("\n".join(ids))

    status, out, err = run("mine.toml", "--curated", curated)

    assert status == 2
    assert "Run 3 of 4: static, seed 1" in err
    assert "live, seed 1, failed: boom" in out
    assert "+0.500" in out
    status, out, _ = run("mine.toml", "--curated", curated, "--json", "--prefect")
    assert [variant["name"] for variant in json.loads(out)["variants"]] == ["static", "live"]
    assert [prefect for _, prefect in trained] == [False] * 4 + [True]
    assert [(one.sampler, one.seed, one.resume) for one, _ in trained[4:]] == [("live", 1, False)]
    assert Path("runs/ablation-mine/ablation.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no FILE was given: give a TOML file, or one of bands, easy-only"),
        (("mine.toml",), "mine.toml: [base] names no curated set: give --curated"),
        (("sampler", "--curated", "SET"), "unknown ablation 'sampler': did you mean 'samplers'"),
        (("mine.toml", "--curated", "SET"), "run 'live': curated set 'SET' does not exist"),
    ],
)
def test_what_cannot_work_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert message in err
