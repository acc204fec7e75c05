"""A verifier that fails often stops the run, with reasons; mended, it scores what was paid for; none is paid anew."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.faults.runs_for_tests import Run, Shell
from tests.faults.stores_for_tests import check_rollouts, files, group_files, leftovers, scores

PROMPTS, GROUP_SIZE = 25, 8
ROLLOUTS = PROMPTS * GROUP_SIZE  # one spike's worth: judged when all of it is generated
FIND = (
    "find", "--sampling", "fixed", "--engine", "simulated", "--prompts", "questions.jsonl",
    "--group-size", str(GROUP_SIZE), "--no-prefect", "--json", "--store", "store",
)  # fmt: skip

JUDGE = """
import zlib
from learnable.data.records import Score

class Judge:
    name = "judge"
    version = "{version}"

    def check_spec(self, spec):
        pass

    def score(self, completion, *, prompt, spec):
        number = zlib.crc32(completion.encode()) % 1000
        if number < {errors}:
            raise RuntimeError(("out of ink", "out of paper", "out of ideas", "no pen")[min(number % 7, 3)])
        return Score(float(completion), float(completion) > 0.5)
"""


@pytest.fixture
def questions(shell: Shell) -> Path:
    """Prompts whose graded rewards are all different texts."""
    rows = [
        {"prompt": f"question {i}", "spec": {"rate": 0.5, "spread": 0.2}, "verifier": "judge:Judge"}
        for i in range(PROMPTS)
    ]
    path = shell.folder / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def find(shell: Shell, *, per_mille: int, version: str = "1", status: int = 0) -> Run:
    """Run with a verifier that raises on so many of a thousand completions."""
    (shell.folder / "judge.py").write_text(JUDGE.format(errors=per_mille, version=version))
    paths = {"PYTHONPATH": str(shell.folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return shell.run(*FIND, "--verifier", "judge:Judge", status=status, **paths)


def honest(shell: Shell) -> pl.DataFrame:
    return scores(shell.store).filter(pl.col("verdict") == "scored")


@pytest.mark.usefixtures("questions")
@pytest.mark.parametrize("mended_as", ["1", "2"], ids=["the same version", "a new version"])
def test_a_spike_of_errors_stops_the_run(shell: Shell, mended_as: str) -> None:
    stopped = find(shell, per_mille=200, status=2)
    [[errors, named]] = re.findall(
        r"error: (\d+) of 200 scores in a row are errors \(.*?, over 2%\): (.*?)\. The run stops", stopped.err
    )
    counts = [int(count) for count in re.findall(r"(\d+) x verifier_error: RuntimeError: ", named)]
    assert 10 < int(errors) < 60
    assert len(counts) == 3
    assert counts == sorted(counts, reverse=True)
    assert "no pen" in named  # by far the most common
    assert "mend the verifier" in stopped.err
    stored = check_rollouts(shell.store, ROLLOUTS)
    assert not (shell.store / "curated").exists()
    assert leftovers(shell.store) == []
    mended = find(shell, per_mille=0, version=mended_as)
    assert not mended.started_an_engine
    assert mended.reused == ROLLOUTS
    assert check_rollouts(shell.store, ROLLOUTS).equals(stored)
    assert mended.report["totals"]["errors"] == 0
    assert mended.report["totals"]["decisions"].get("not_scored", 0) == 0
    assert honest(shell)["rollout_id"].n_unique() == ROLLOUTS


@pytest.mark.usefixtures("questions")
def test_a_few_errors_are_left_out_and_said(shell: Shell) -> None:
    run = find(shell, per_mille=20)
    errors = run.report["totals"]["errors"]
    assert 0 < errors <= 4
    assert f"warning: {errors} rollouts have no honest score and were left out, not counted as zero" in run.err
    check_rollouts(shell.store, ROLLOUTS)
    assert honest(shell).height == ROLLOUTS - errors
    again = find(shell, per_mille=0)
    assert not again.started_an_engine
    assert again.report["totals"]["errors"] == 0
    assert honest(shell).height == honest(shell)["rollout_id"].n_unique() == ROLLOUTS


@pytest.mark.usefixtures("questions")
def test_a_new_version_scores_everything_anew_without_an_engine(shell: Shell) -> None:
    first = find(shell, per_mille=0)
    before = files(shell.store / "rollouts")
    bumped = find(shell, per_mille=0, version="2")
    assert not bumped.started_an_engine
    assert bumped.reused == ROLLOUTS
    assert files(shell.store / "rollouts") == before
    counts = honest(shell).group_by("verifier_version").len().sort("verifier_version").rows()
    assert counts == [("1", ROLLOUTS), ("2", ROLLOUTS)]
    assert len(group_files(shell.store)) == 1  # decided alike
    back = find(shell, per_mille=0)
    assert not back.started_an_engine
    assert len(group_files(shell.store)) == 1
    assert back.report["forms"] == first.report["forms"]
    assert honest(shell).height == 2 * ROLLOUTS
