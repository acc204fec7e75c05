"""Rung D: a subset of Python, where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.programs import NoSandboxError, Sandbox, SandboxError
from learnable.verifiers.programs.judge import judge
from learnable.verifiers.programs.sandbox.ladder import Rung
from learnable.verifiers.programs.verifier import ProgramVerifier, sandbox
from learnable.verifiers.protocol import verifier_conditions, verifier_notice

DOUBLE = "def f(x):\n    return 2 * x"
CASES: dict[str, Any] = {"entry": "f", "cases": [[[1], 2], [["ab"], "abab"]], "cpu_seconds": 2}


@pytest.fixture(scope="module")
def subset() -> Iterator[Sandbox]:
    pytest.importorskip("pydantic_monty", reason="rung D needs the extra 'monty'")
    with Sandbox(rung="D") as made:
        yield made


def test_it_answers_and_says_what_it_is(subset: Sandbox) -> None:
    assert subset.rung is Rung.D
    assert "subset of Python" in subset.report["meaning"]
    assert set(subset.report["probes"].values()) == {"refused", "passed"}
    outcome = subset.run("def f(x):\n    return {x: (1.5, None, [True])}", "f", [[10**40], ["a"]])
    assert [answer.value for answer in outcome.answers] == [{10**40: (1.5, None, [True])}, {"a": (1.5, None, [True])}]


def test_programs_are_judged(subset: Sandbox) -> None:
    assert judge(subset, DOUBLE, CASES).reward == 1.0
    half = judge(subset, "def f(x):\n    return 2", CASES)
    assert (half.reward, half.passed) == (0.25, False)
    test_code = {"entry": "f", "test_code": "assert f(2) == 4\nassert sorted(f([2])) == [2, 2]"}
    assert judge(subset, DOUBLE, test_code).passed


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(x:", "syntax_error"),
        ("import socket\n" + DOUBLE, "crashed: ModuleNotFoundError"),
        ("def f(x): return open('/etc/hostname').read()", "case 0 raised PermissionError"),
        ("def f(x): return eval('__import__(\"os\").getcwd()')", "case 0"),
        ("def f(x):\n    while True: pass", "timeout"),
        ("while True: pass", "timeout"),
        ("def f(x):\n    y = [0]\n    while True: y += y", "case 0 raised MemoryError"),
        ("def f(x): return f(x)", "case 0 raised RecursionError"),
        ("class A: pass\ndef f(x): return A()", "case 0 raised TypeError"),
        ("class A:\n    def __eq__(self, other): return True\ndef f(x): return A()", "case 0 raised TypeError"),
        ("def f(x): raise TimeoutError('mine')", "case 0 raised TimeoutError"),
        ("def f(x):\n    print('a' * 10**7)\n    return 2 * x", "case 0 raised MemoryError"),
        ("g = 1", "case 0 raised NameError"),
        ("\ud800", "syntax_error"),
    ],
)
def test_what_is_wrong_or_hostile_fails_and_the_next_program_passes(subset: Sandbox, source: str, reason: str) -> None:
    score = judge(subset, source, CASES)
    assert (score.reward, score.passed) == (0.0, False)
    assert reason in (score.reason or "")
    assert judge(subset, DOUBLE, CASES).passed


def test_arguments_are_each_calls_own_and_sleep_takes_no_time(subset: Sandbox) -> None:
    source = "import time\ndef f(x):\n    time.sleep(1000)\n    x.append(1)\n    return x"
    shared: list[int] = []
    outcome = subset.run(source, "f", [[shared], [shared]])
    assert [answer.value for answer in outcome.answers] == [[1], [1]]


def test_it_starts_again_after_it_was_closed(subset: Sandbox) -> None:
    subset.close()
    assert judge(subset, DOUBLE, CASES).passed


def test_what_it_cannot_judge_is_no_zero(subset: Sandbox) -> None:
    with pytest.raises(SandboxError, match="rung D calls functions"):
        judge(subset, "print(input())", {"stdin": [["1", "1"]]})


def test_it_is_never_strict_and_never_taken_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LearnableError, match="rung D is not strict"):
        Sandbox(strict=True, rung="D")
    with Sandbox() as usual:
        assert usual.rung is not Rung.D
    monkeypatch.setitem(__import__("sys").modules, "pydantic_monty", None)
    with Sandbox(rung="D") as missing, pytest.raises(NoSandboxError, match=r"pip install 'learnable\[monty\]'"):
        missing.run(DOUBLE, "f", [[1]])


def test_the_environment_may_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_monty", reason="rung D needs the extra 'monty'")
    monkeypatch.setenv("LEARNABLE_SANDBOX", "subset")
    sandbox.cache_clear()
    try:
        verifier = ProgramVerifier()
        assert "subset of Python" in verifier_notice(verifier)
        assert verifier_conditions(verifier)["sandbox_rung"] == "D"
        assert verifier.score(DOUBLE, prompt="", spec=CASES).passed
    finally:
        sandbox().close()
        sandbox.cache_clear()
