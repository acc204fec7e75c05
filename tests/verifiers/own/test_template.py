"""What `learnable new-verifier` writes passes its own tests, and judges as its golden completions say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.own.template import write_verifier
from learnable.verifiers.own.trust import trust
from learnable.verifiers.pool.jobs import ScoreJob, score_one


def test_a_new_verifier_agrees_with_its_golden_completions(tmp_path: Path) -> None:
    judge, golden, test = write_verifier("haiku", tmp_path / "judges")
    assert [path.name for path in (judge, golden, test)] == ["haiku.py", "haiku_golden.jsonl", "test_haiku.py"]
    rows = [json.loads(line) for line in golden.read_text().splitlines()]
    assert {row["reward"] for row in rows} == {0.0, 0.5, 1.0}
    for row in rows:
        for messages in ("", '[{"role": "user", "content": "?"}]'):
            spec = json.dumps({"answer": row["answer"]})
            trust(f"{judge}:score")
            score = score_one(ScoreJob(f"{judge}:score", row["completion"], row["prompt"], spec, "stop", messages))
            assert (score.reward, score.passed) == (row["reward"], row["reward"] == 1.0), score.reason


@pytest.mark.slow
def test_a_new_verifier_passes_its_own_tests_and_fails_where_it_is_wrong(tmp_path: Path) -> None:
    _, golden, test = write_verifier("haiku", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
    passed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert passed.returncode == 0, passed.stdout
    assert "5 passed" in passed.stdout
    golden.write_text(golden.read_text().replace('"reward": 0.5', '"reward": 0.6'))
    failed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (failed.returncode, "1 failed, 4 passed" in failed.stdout) == (1, True)


@pytest.mark.parametrize("name", ["my-judge", "3", "", "class", "a/b", "../a"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LearnableError, match="cannot name a Python file"):
        write_verifier(name, tmp_path)


@pytest.mark.parametrize("file", ["haiku.py", "haiku_golden.jsonl", "test_haiku.py"])
def test_nothing_is_overwritten(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("mine")
    with pytest.raises(LearnableError, match="is there already, and is not overwritten"):
        write_verifier("haiku", tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(file, "mine")]
