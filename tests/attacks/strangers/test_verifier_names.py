"""A file that names code as its verifier runs none of it, whatever reads the file; a person who names it, does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from learnable import trust_verifier
from learnable.data.curated.curated_set import open_curated
from learnable.data.policies import find_policy
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.train.rewards import verifier_reward
from learnable.verifiers.own.loading import JudgeError
from learnable.verifiers.own.trust import UntrustedVerifierError, trust
from learnable.verifiers.registry import find_verifier
from tests.cli.files_for_tests import RecordingEngine, Run

EVIL = """
from pathlib import Path
from subprocess import run

Path(__file__).with_name("marker").touch()

def judge(completion):
    Path(__file__).with_name("marker").touch()
    return True
"""
NAMES = (
    "subprocess:Popen?args=touch marker&shell=true",
    "subprocess:getoutput",
    "os:system",
    "builtins:exec",
    "runpy:run_path",
    "evil.py:judge",
    "evil.py:judge?range=0..2",
    "./evil.py:judge",
    "evil:judge",
    "trl:accuracy_reward?x=1",
)
HONEST = "def judge(completion, spec):\n    return completion == spec['answer']\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.json").write_text("{}")
    (tmp_path / "policy" / "model.safetensors").write_bytes(b"weights")
    return tmp_path


@pytest.fixture
def engine(folder: Path, run_apart: Run) -> Iterator[RecordingEngine]:
    engine = RecordingEngine(find_policy("policy").policy_id)
    with use_engine(engine, CurateSettings(policy="policy")):
        yield engine


def write_prompts(folder: Path, **verifier: str) -> None:
    rows = [{"prompt": f"touch marker {number}", "answer": "yes", **verifier} for number in range(12)]
    (folder / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def find(run_apart: Run, *arguments: str) -> tuple[int, str, str]:
    return run_apart(
        "find", "--policy", "policy", "--prompts", "p.jsonl", "--no-prefect", "--sampling", "fixed", "--group-size",
        "4", "--workers", "0", "--near-duplicates", "1", "--name", "set", *arguments,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", [["--show", "3"], ["--dry-run"], ["--json"]])
def test_a_prompts_file_names_no_code(
    run_apart: Run,
    engine: RecordingEngine,
    folder: Path,
    name: str,
    how: list[str],
) -> None:
    write_prompts(folder, verifier=name)
    status, out, err = find(run_apart, *how)
    assert (status, out) == (2, "")
    assert f"p.jsonl, line 1: verifier {name!r} is code that data names" in err
    assert not (folder / "marker").exists()
    assert not engine.prompts


@pytest.fixture
def curated(run_apart: Run, engine: RecordingEngine, folder: Path) -> str:
    """A set whose verifier its maker named, and nobody else has."""
    (folder / "judge.py").write_text(HONEST)
    write_prompts(folder)
    status, out, err = find(run_apart, "--verifier", "judge.py:judge", "--band", "0", "1", "--min-std", "0", "--json")
    assert status == 0, err
    return str(json.loads(out)["curated"])


def commands(curated: str) -> list[list[str]]:
    return [
        ["train", "--curated", curated, "--explain"],
        ["train", "--curated", curated],
        [
            "eval",
            "--curated",
            curated,
            "--policy",
            "policy",
            "--no-greedy",
            "--group-size",
            "2",
            "--k",
            "2",
            "--workers",
            "0",
        ],
        ["refresh", "--curated", curated, "--policy", "policy", "--no-prefect", "--workers", "0"],
        ["loop", "--curated", curated],
        ["ablate", "samplers", "--curated", curated, "--dry-run"],
    ]


@pytest.mark.parametrize("place", range(6))
def test_a_set_names_no_code(
    run_apart: Run,
    curated: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: int,
) -> None:
    monkeypatch.setenv("LEARNABLE_TRUSTED_VERIFIERS", "[]")  # another person, who has named nothing
    (folder / "judge.py").write_text(EVIL)
    command = commands(curated)[place]
    status, out, err = run_apart(*command)
    assert (status, out) == (2, ""), err
    assert "verifier 'judge.py:judge' is code that data names" in err
    assert "--verifier 'judge.py:judge'" in err
    assert not (folder / "marker").exists()


def test_whoever_evaluates_names_the_code_again_and_hears_that_it_changed(
    run_apart: Run,
    curated: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manifest = open_curated(curated).manifest
    assert manifest.verifier_sources == manifest.verifiers  # a judge without a version has the hash for one
    monkeypatch.setenv("LEARNABLE_TRUSTED_VERIFIERS", "[]")
    evaluate = commands(curated)[2]
    status, _, err = run_apart(*evaluate, "--verifier", "judge.py:judge")
    assert status == 0, err
    assert "has changed" not in err
    (folder / "moved").mkdir()
    (folder / "moved" / "judge.py").write_text(HONEST + "# edited\n")
    monkeypatch.setenv("LEARNABLE_TRUSTED_VERIFIERS", "[]")
    status, _, err = run_apart(*evaluate, "--verifier", "moved/judge.py:judge")  # where this person has it
    assert status == 0, err
    assert "warning: verifier 'judge.py:judge' has changed: the set was curated with its version" in err


def test_a_source_that_changed_under_its_version_is_told(
    run_apart: Run,
    engine: RecordingEngine,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "judge.py").write_text(HONEST + "judge.version = '1'\n")
    write_prompts(folder)
    status, out, err = find(run_apart, "--verifier", "judge.py:judge", "--band", "0", "1", "--min-std", "0", "--json")
    assert status == 0, err
    (folder / "moved").mkdir()
    (folder / "moved" / "judge.py").write_text(HONEST + "judge.version = '1'\n# edited\n")
    monkeypatch.setenv("LEARNABLE_TRUSTED_VERIFIERS", "[]")
    status, _, err = run_apart(*commands(json.loads(out)["curated"])[2], "--verifier", "moved/judge.py:judge")
    assert status == 0, err
    assert "still says that it is version 1, but its source has changed" in err


def test_rows_name_code_that_the_command_names_too(run_apart: Run, engine: RecordingEngine, folder: Path) -> None:
    (folder / "judge.py").write_text(HONEST)
    write_prompts(folder, verifier="judge.py:judge")
    status, _, err = find(run_apart, "--verifier", "number", "--verifier", "judge.py:judge")
    assert status == 0, err
    assert engine.prompts


def test_a_trainer_refuses_what_only_its_rows_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    row: dict[str, Any] = {"prompts": ["1"], "completions": ["1"], "spec": ["{}"]}
    with pytest.raises(UntrustedVerifierError, match=r"learnable\.trust_verifier"):
        verifier_reward(**row, verifier=["evil.py:judge"])
    assert not (folder / "marker").exists()


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:exec", "runpy:run_path", "subprocess:Popen", "evil.py:run", "functools:partial"]
)
def test_what_is_pythons_own_is_no_judge_even_where_a_person_names_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(JudgeError, match="Python's own and no judge"):
        trust_verifier(name)


def test_arguments_are_part_of_what_a_person_names(tmp_path: Path) -> None:
    place = tmp_path / "made.py"
    place.write_text("class Judge:\n    def __init__(self, word='a'): ...\n    def score(self, completion): return 1\n")
    trust(f"{place}:Judge")
    find_verifier(f"{place}:Judge")
    with pytest.raises(UntrustedVerifierError):
        find_verifier(f"{place}:Judge?word=b")
