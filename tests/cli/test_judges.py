"""Judges of a user's own through the command line: how they are named, what is wrong with them, and when they hang."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.scripted import ScriptedEngine
from learnable.verifiers import registry
from learnable.verifiers.pool.scoring import ScoringPool
from tests.cli.files_for_tests import Run
from tests.faults.stores_for_tests import rollouts, scores

PROMPTS, GROUP_SIZE = 40, 8
TEXTS = [f"question {index}" for index in range(PROMPTS)]
LIMIT = "0.3"  # seconds for a completion

# As in README.md.
EXAMPLE = '''
from learnable import Score


def judge(completion, spec):
    """Return a number from 0 to 1, True or False, a Score, or None where nothing honest can be said."""
    return completion.strip() == str(spec["answer"])


class Judge:
    version = "1"  # say 2 when you change the rules: stored completions are scored anew, and nothing is generated

    def score(self, completion, *, prompt, spec):
        right, short = str(spec["answer"]) in completion, len(completion) < 80
        return Score(0.8 * right + 0.2 * short, passed=right, components={"right": right, "short": short})
'''
HANGING = """
import time

def judge(completion):
    time.sleep(600)
"""
RAISING = """
def judge(completion):
    raise RuntimeError("out of ink")
"""
LATE = """
import pathlib, time

CALLS = pathlib.Path(__file__).with_name("calls")

def judge(completion):
    with CALLS.open("a") as file:
        file.write("x")
    if CALLS.stat().st_size {hangs}:
        time.sleep(600)
    return completion == "yes"
"""


class CountingEngine(ScriptedEngine):
    """Counts the groups that are drawn from it."""

    policy_id = ""

    def __init__(self, policy_id: str) -> None:
        super().__init__({text: ["yes", "no"] for text in TEXTS})
        self.policy_id = policy_id
        self.drawn = 0

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for answer in super().generate(requests, sampling):
            self.drawn += 1
            yield answer


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory with questions, completions and a policy. No judge of it stays imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("my_judge", "rules"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.json").write_text("{}")
    (tmp_path / "policy" / "model.safetensors").write_bytes(b"weights")
    write_rows(tmp_path / "q.jsonl", [{"prompt": text, "answer": "yes"} for text in TEXTS])
    write_rows(tmp_path / "in.jsonl", [{"completion": text, "answer": "yes"} for text in ("yes", "no")])
    return tmp_path


@pytest.fixture
def engine(folder: Path) -> Iterator[CountingEngine]:
    engine = CountingEngine(find_policy("policy").policy_id)
    with use_engine(engine, CurateSettings(policy="policy")):
        yield engine


def find(run: Run, *arguments: object, group_size: int = GROUP_SIZE) -> tuple[int, str, str]:
    return run(
        "find", "--policy", "policy", "--prompts", "q.jsonl", "--no-prefect", "--json", "--sampling", "fixed",
        "--group-size", group_size, "--workers", 1, "--near-duplicates", 1, *arguments,
    )  # fmt: skip


def verify(run: Run, verifier: str, *arguments: object, source: str = "in.jsonl") -> tuple[int, str, str]:
    return run("verify", "--verifier", verifier, "--input", source, "--output", "out.jsonl", *arguments)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("file", "verifier"),
    [
        ("my_judge.py", "my_judge.py:judge"),
        ("judges/my_judge.py", "./judges/my_judge.py:Judge"),
        ("my_judge.py", "my_judge:Judge"),
    ],
)
def test_a_judge_of_ones_own_finds_prompts_and_scores_files(
    run: Run, engine: CountingEngine, folder: Path, file: str, verifier: str
) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(EXAMPLE)
    status, out, err = find(run, "--verifier", verifier, "--limit", 4)
    assert status == 0, err
    totals = json.loads(out)["totals"]
    assert totals["kept"] > 0
    assert (totals["errors"], engine.drawn) == (0, 4)
    assert verify(run, verifier)[0] == 0
    assert [row["passed"] for row in read_rows(folder / "out.jsonl")] == [True, False]


def test_an_edited_judge_scores_anew_and_pays_nothing(
    run: Run, engine: CountingEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = []
    for right in ("yes", "no!"):
        (folder / "my_judge.py").write_text(f"def judge(completion):\n    return completion == {right!r}\n")
        monkeypatch.setattr(registry, "_own_judges", {})  # as in a new process
        for name in [name for name in sys.modules if name.startswith("learnable_judge_")]:
            monkeypatch.delitem(sys.modules, name)
        status, _, err = find(run, "--verifier", "my_judge.py:judge", "--limit", 4)
        assert status == 0, err
        versions.append(registry.find_verifier("my_judge.py:judge").version)
    assert engine.drawn == 4
    judged = scores(folder / "learnable-store").group_by("verifier_version").agg(pl.len(), pl.col("reward").sum())
    assert dict(zip(judged["verifier_version"], judged["len"], strict=True)) == dict.fromkeys(versions, 4 * GROUP_SIZE)
    assert judged["reward"].min() == 0 < judged["reward"].max()


def test_a_hanging_judge_stops_the_run_at_once(run: Run, engine: CountingEngine, folder: Path) -> None:
    (folder / "my_judge.py").write_text(HANGING)
    status, out, err = find(run, "--verifier", "my_judge.py:judge", "--verifier-timeout", LIMIT)
    assert (status, out) == (2, "")
    assert err.count("warning: verifier 'my_judge.py:judge' was given up on a completion (no score within 0.3 s)") == 1
    assert f"error: verifier 'my_judge.py:judge' hangs: no score for {GROUP_SIZE + 1} completions" in err
    assert "--verifier-timeout" in err
    assert engine.drawn == 2  # one prompt alone may be at fault
    assert rollouts(folder / "learnable-store").height == 2 * GROUP_SIZE
    assert find(run, "--verifier", "my_judge.py:judge", "--verifier-timeout", LIMIT)[0] == 2
    assert engine.drawn == 2


def test_a_raising_judge_stops_the_run_at_once(run: Run, engine: CountingEngine, folder: Path) -> None:
    (folder / "my_judge.py").write_text(RAISING)
    status, _, err = find(run, "--verifier", "my_judge.py:judge", group_size=4)
    assert status == 2
    assert (
        "fails: none of its first 8 completions got a score (8 x RuntimeError: out of ink (my_judge.py, line 3))" in err
    )
    assert engine.drawn == 2
    assert rollouts(folder / "learnable-store").height == 8


def test_one_broken_judge_among_several_stops_the_run(run: Run, engine: CountingEngine, folder: Path) -> None:
    (folder / "my_judge.py").write_text(HANGING + "\ndef kind(completion):\n    return completion == 'yes'\n")
    rows = [
        {"prompt": text, "answer": "yes", "verifier": f"my_judge.py:{'judge' if index % 4 == 3 else 'kind'}"}
        for index, text in enumerate(TEXTS)
    ]
    write_rows(folder / "q.jsonl", rows)
    named = ("--verifier", "my_judge.py:kind", "--verifier", "my_judge.py:judge")
    status, _, err = find(run, *named, "--verifier-timeout", LIMIT)
    assert status == 2
    assert "verifier 'my_judge.py:judge' hangs" in err
    assert engine.drawn < PROMPTS
    scored = scores(folder / "learnable-store").filter(pl.col("reward").is_not_null())
    assert set(scored["verifier"]) == {"my_judge.py:kind"}


@pytest.mark.slow
@pytest.mark.parametrize(("hangs", "status", "calls"), [("== 20", 0, PROMPTS * GROUP_SIZE), ("> 20", 2, 25)])
def test_a_judge_that_hangs_later_is_forgiven_once_and_not_for_ever(
    run: Run, engine: CountingEngine, folder: Path, hangs: str, status: int, calls: int
) -> None:
    (folder / "my_judge.py").write_text(LATE.format(hangs=hangs))
    ended, out, err = find(run, "--verifier", "my_judge.py:judge", "--verifier-timeout", LIMIT)
    assert ended == status, err
    assert (folder / "calls").stat().st_size == calls
    assert err.count("was given up on a completion (no score within 0.3 s)") == 1
    if status:
        assert "hangs: no score for 5 completions one after the other (5 x time limit" in err
    else:
        assert json.loads(out)["totals"]["errors"] == 1


BAD = {
    "missing.py:judge": (None, "there is no file"),
    "nowhere:judge": (None, "there is no module 'nowhere'"),
    "my_judge.py": ("", "FILE.py:OBJECT"),
    "my_judge.py:juge": ("def judge(completion): ...", "has no 'juge': did you mean judge?"),
    "my_judge.py:syntax": ("def syntax(:", "my_judge.py, line 1: SyntaxError"),
    "my_judge.py:raises": ("x = 1\nx / 0", "my_judge.py, line 2: ZeroDivisionError: division by zero"),
    "my_judge.py:leaves": ("import sys\nsys.exit(3)", "my_judge.py, line 2: SystemExit: 3"),
    "my_judge.py:imports": ("import no_such_thing", "my_judge.py, line 1: ModuleNotFoundError"),
    "my_judge.py:Needs": (
        "class Needs:\n    def __init__(self, path): ...\n    def score(self, completion): ...",
        "Needs() needs path: give defaults, or name an object",
    ),
    "my_judge.py:Breaks": (
        "class Breaks:\n    def __init__(self):\n        raise OSError('no dictionary')\n"
        "    def score(self, completion): ...",
        "my_judge.py, line 3: OSError: no dictionary",
    ),
    "my_judge.py:number": ("number = 3", "is 3 (int), which cannot judge"),
    "my_judge.py:Empty": ("class Empty: ...", "which cannot judge"),
    "my_judge.py:nothing": ("def nothing(): ...", "takes no completion"),
    "my_judge.py:more": ("def more(completion, answer): ...", "needs answer, which nobody gives it"),
    "my_judge.py:first": ("def first(prompt, completion): ...", "its first parameter is not the completion"),
    "my_judge.py:state": ("def state(completions, trainer_state): ...", "needs trainer_state, and there is no trainer"),
    "my_judge.py:later": ("async def later(completion): ...", "is async"),
    "my_judge.py:Slow": (
        "class Slow:\n    time_limit = 0\n    def score(self, completion): ...",
        "time_limit is 0: give seconds",
    ),
}


@pytest.mark.parametrize("verifier", BAD)
@pytest.mark.parametrize("command", [find, verify])
def test_a_judge_that_cannot_be_used_is_one_message(
    run: Run, engine: CountingEngine, folder: Path, verifier: str, command: Callable[..., tuple[int, str, str]]
) -> None:
    source, message = BAD[verifier]
    if source is not None:
        (folder / "my_judge.py").write_text(source)
    arguments = ("--verifier", verifier) if command is find else (verifier,)
    status, out, err = command(run, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: verifier ")
    assert message in err
    assert "Traceback" not in err
    assert engine.drawn == 0


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        ("0.25", {"reward": 0.25, "passed": False, "verdict": "scored"}),
        ("1", {"reward": 1.0, "passed": True, "verdict": "scored"}),
        ("False", {"reward": 0.0, "passed": False, "verdict": "scored"}),
        ("np.float32(0.5)", {"reward": 0.5, "passed": False, "verdict": "scored"}),
        ("np.bool_(True)", {"reward": 1.0, "passed": True, "verdict": "scored"}),
        ("None", {"reward": None, "reason": "the judge returned None"}),
        ("float('nan')", {"reward": None, "reason": "reward nan is outside [0, 1]"}),
        ("1.5", {"reward": None, "reason": "reward 1.5 is outside [0, 1]"}),
        ("'yes'", {"reward": None, "reason": "TypeError: the judge returned 'yes' (str): return a number"}),
        ("Score('0.5', True)", {"reward": None, "reason": "TypeError: reward '0.5' is no number"}),
        ("spec['answr']", {"reward": None, "reason": "KeyError: 'answr' (my_judge.py, line 4)"}),
    ],
)
def test_what_a_judge_returns(run: Run, folder: Path, answer: str, row: dict[str, Any]) -> None:
    (folder / "my_judge.py").write_text(
        f"import numpy as np\nfrom learnable import Score\ndef judge(completion, *, spec):\n    return {answer}\n"
    )
    status, _, err = verify(run, "my_judge.py:judge", "--workers", 0)
    assert status == (1 if row["reward"] is None else 0), err
    (scored, _) = read_rows(folder / "out.jsonl")
    reason = row.pop("reason", "")
    assert reason in scored["reason"]
    assert row.items() <= scored.items()


def test_a_file_without_one_honest_score_ends_with_status_1(run: Run, folder: Path) -> None:
    (folder / "my_judge.py").write_text(HANGING)
    status, out, err = verify(run, "my_judge.py:judge", "--verifier-timeout", LIMIT, "--workers", 1, "--json")
    assert status == 1
    assert json.loads(out)["verdicts"] == {"verifier_error": 2}
    assert err.count("warning: verifier 'my_judge.py:judge' was given up") == 1
    assert err.count("error: verifier 'my_judge.py:judge' gave no row a reward: 2 x time limit") == 1
    assert [row["verdict"] for row in read_rows(folder / "out.jsonl")] == ["verifier_error"] * 2


def test_a_long_reason_ends_with_a_whole_word(run: Run, engine: CountingEngine, folder: Path) -> None:
    (folder / "my_judge.py").write_text("def judge(completion):\n    return 'yes'\n")
    for ended in (verify(run, "my_judge.py:judge", "--workers", 0), find(run, "--verifier", "my_judge.py:judge")):
        status, _, err = ended
        assert status
        assert "x TypeError: the judge returned 'yes' (str): return a number from 0 to 1, True or False, a" in err
        assert "or None where nothing..." in err


def test_verify_reads_gzip(run: Run, folder: Path) -> None:
    (folder / "in.jsonl.gz").write_bytes(gzip.compress((folder / "in.jsonl").read_bytes()))
    (folder / "my_judge.py").write_text(EXAMPLE)
    assert verify(run, "my_judge.py:judge", source="in.jsonl.gz")[0] == 0
    assert [row["reward"] for row in read_rows(folder / "out.jsonl")] == [1.0, 0.0]
    (folder / "cut.gz").write_bytes((folder / "in.jsonl.gz").read_bytes()[:-9])
    status, _, err = verify(run, "my_judge.py:judge", source="cut.gz")
    assert status == 2
    assert "cut.gz is no whole gzip file" in err


def test_verify_reads_standard_input_and_writes_standard_output(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "my_judge.py").write_text(EXAMPLE)
    for extra in ((), ("--json",)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "in.jsonl").read_bytes())))
        status, out, err = run("verify", "--verifier", "my_judge.py:judge", "--input", "-", "--output", "-", *extra)
        assert status == 0, err
        assert [json.loads(line)["reward"] for line in out.splitlines()] == [1.0, 0.0]
        assert "2" in err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    status, out, err = run("verify", "--verifier", "my_judge.py:judge", "--input", "-", "--output", "-")
    assert (status, out) == (2, "")
    assert "standard input, line 1: not JSON" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--verifier-timeout", "nan"], "--verifier-timeout nan"), (["--workers", "-1"], "--workers -1")],
)
@pytest.mark.parametrize("command", [find, verify])
def test_limits_that_are_none_are_named(
    run: Run, arguments: list[str], message: str, command: Callable[..., tuple[int, str, str]]
) -> None:
    status, _, err = command(run, *(["--verifier"] if command is find else []), "arithmetic", *arguments)
    assert status == 2
    assert err.startswith("error: ")
    assert message in err


def test_training_finds_the_judge_that_the_shards_name(
    run: Run, engine: CountingEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "my_judge.py").write_text(EXAMPLE)
    status, out, err = find(run, "--verifier", "my_judge.py:judge", "--test-share", 0)
    assert status == 0, err
    curated = folder / json.loads(out)["curated"]
    [shard] = curated.glob("train-*.parquet")
    rows = pl.read_parquet(shard).head(2)
    from learnable.train import rewards

    with ScoringPool(1) as pool:
        monkeypatch.setattr(rewards, "open_scoring_pool", lambda: pool)
        columns = [rows[name].to_list() for name in ("prompt", "verifier", "spec")]
        assert rewards.verifier_reward(columns[0], ["yes", "no"], columns[1], columns[2]) == [1.0, 0.0]
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    status, _, err = run("train", "--curated", curated, "--policy", folder / "policy", "--no-evaluate")
    assert status == 2
    assert f"there is no file '{folder / 'elsewhere' / 'my_judge.py'}'" in err
    assert "work in the folder that it was named in" in err
