"""Hostile programs cost themselves their reward and nothing else."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from learnable.data.records import Score
from learnable.verifiers.programs import verifier as programs
from learnable.verifiers.programs.client import RUNNER, Runner, RunnerError
from learnable.verifiers.programs.verifier import ProgramVerifier, read_frames

SPEC = {"entry": "f", "cases": [[[1], 2], [[2], 3]], "cpu_seconds": 0.3}
HONEST = "def f(x):\n    return x + 1\n"


def judged(source: str) -> Score:
    score = ProgramVerifier().score(source, prompt="", spec=SPEC)
    assert ProgramVerifier().score(HONEST + f"# {source!r}", prompt="", spec=SPEC).passed, "the next one suffers"
    return score


@pytest.mark.parametrize(
    ("source", "reward", "reason"),
    [
        ("def f(x):\n    while True: pass", 0.0, "timeout"),
        ("import time\ndef f(x):\n    time.sleep(60)", 0.0, "timeout"),
        ("x = 1\nwhile True: pass", 0.0, "timeout"),
        ("import os\ndef f(x):\n    os._exit(0)", 0.0, "crashed"),
        ("def f(x):\n    raise SystemExit", 0.0, "raised SystemExit"),
        ("import sys\nsys.exit(0)", 0.0, "crashed: SystemExit"),
        ("import os\ndef f(x):\n    while True: os.fork()", 0.0, "raised BlockingIOError"),
        ("import threading\ndef f(x):\n    threading.Thread(target=print).start()", 0.0, "raised RuntimeError"),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)", 0.0, "was killed"),
        ("def f(x):\n    return 'a' * 10_000_000", 0.0, "wrote too much"),
        ("def f(x):\n    return [0] * 10**9", 0.0, "raised MemoryError"),
        ("def f(x):\n    return f(x)", 0.0, "raised RecursionError"),
        ("def f(x):\n    return object()", 0.0, "raised TypeError"),
        ("def f(x):\n    r = []\n    r.append(r)\n    return r", 0.0, "raised ValueError"),
        ("def f(x):\n    print('a' * 10_000_000)\n    return x + 1", 1.0, ""),
        ("import os\nos.close(3)\ndef f(x):\n    return x + 1", 0.0, "crashed"),
        ("import os\nos.write(3, b'junk')\ndef f(x):\n    return x + 1", 0.0, "crashed"),
        ("def f(x):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return x + f.calls", 0.25, "case 1"),
    ],
)
def test_hostile_programs(source: str, reward: float, reason: str) -> None:
    score = judged(source)
    assert (score.verdict, score.reward) == ("scored", reward)
    assert reason in score.reason


def test_files_cannot_be_filled(tmp_path: Path) -> None:
    target = tmp_path / "written"
    tmp_path.chmod(0o777)
    source = f"def f(x):\n    with open({str(target)!r}, 'w') as file:\n        file.write('x')\n    return x + 1"
    assert judged(source).reward == 0.0
    assert not target.exists() or target.read_text() == ""


def test_an_answer_that_says_it_equals_everything_does_not() -> None:
    assert (
        judged("class Yes(int):\n    def __eq__(self, other): return True\ndef f(x):\n    return Yes(7)").reward == 0.0
    )


def test_expected_answers_are_nowhere_in_the_childs_memory() -> None:
    spec = {"entry": "f", "cases": [[[1], "a very secret answer"]], "cpu_seconds": 1}
    hunt = (
        "import gc\ndef f(x):\n"
        "    needle = 'rewsna terces yrev a'[::-1]\n"
        "    holders = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple)) and needle in repr(o)]\n"
        "    return needle if holders else 'nothing'"
    )
    assert ProgramVerifier().score(hunt, prompt="", spec=spec).reward == 0.0


def test_no_process_is_left_behind() -> None:
    runner = Runner()
    try:
        runner.start()
        runner.run("def f():\n    while True: pass", "f", [[]], 0.2)
        assert runner.pid is not None
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
        assert not children.exists() or children.read_text() == ""
    finally:
        runner.close()


def test_a_dead_runner_is_started_again() -> None:
    runner = Runner()
    try:
        first = runner.run(HONEST, "f", [[1]], 1.0)
        assert runner.pid is not None
        os.kill(runner.pid, signal.SIGKILL)
        assert runner.run(HONEST, "f", [[1]], 1.0) == first
    finally:
        runner.close()


def test_a_runner_that_cannot_start_is_no_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("learnable.verifiers.programs.client.RUNNER", tmp_path / "missing.py")
    monkeypatch.setattr(programs, "_RUNNER", Runner())
    score = ProgramVerifier().score(HONEST + "# never seen before", prompt="", spec=SPEC)
    assert (score.verdict, score.reward) == ("verifier_error", None)
    assert "failed twice" in score.reason
    with pytest.raises(RunnerError):
        Runner().run(HONEST, "f", [[1]], 1.0)


def test_the_same_program_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = HONEST + "# asked twice"
    first = ProgramVerifier().score(source, prompt="", spec=SPEC)
    monkeypatch.setattr(programs, "_RUNNER", None)
    assert ProgramVerifier().score(source, prompt="another", spec=SPEC) == first


def test_hashing_is_the_same_in_every_run() -> None:
    source = "def f(words):\n    return list({*words})"
    runs = []
    for _ in range(2):
        runner = Runner()
        runs.append(runner.run(source, "f", [[["some", "words", "in", "a", "set"]]], 1.0))
        runner.close()
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "forged", ["[0, true, 2]\n[0, true, 2]", "[" * 100_000, '{"a": 1}', "[true, true, 1]", '[0, "yes", 1]', "3"]
)
def test_forged_frames_end_the_reading(forged: str) -> None:
    assert len(read_frames(forged + "\n[9, true, 9]")) <= 1


def test_a_child_that_cannot_be_limited_runs_nothing_and_is_no_zero(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = RUNNER.read_text(encoding="utf-8")
    broken = tmp_path / "runner.py"
    broken.write_text(source.replace("OPEN_FILES = 16", "OPEN_FILES = -7"), encoding="utf-8")
    monkeypatch.setattr("learnable.verifiers.programs.client.RUNNER", broken)
    with pytest.raises(RunnerError, match="could not be limited"):
        Runner().run(HONEST, "f", [[1]], 1.0)
