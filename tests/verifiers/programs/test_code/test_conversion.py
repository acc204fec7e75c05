"""Test code as cases, or in a second sandbox; public reference solutions pass either way."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from learnable.verifiers.programs import Sandbox
from learnable.verifiers.programs.judge import judge
from learnable.verifiers.programs.sandbox.ladder import look_at_machine
from learnable.verifiers.programs.test_code.conversion import convert
from learnable.verifiers.programs.test_code.examination import BrokenTestsError
from learnable.verifiers.programs.verifier import ProgramVerifier
from learnable.verifiers.protocol import SpecError
from tests.support.paths import PUBLIC_DATA

PUBLIC = PUBLIC_DATA / "programs"
# Their tests make objects of classes that the solution defines, and such objects cannot cross to the second sandbox.
OWN_CLASSES = {"mbpp/367", "mbpp/601", "mbpp/927"}

confined = pytest.mark.skipif(not look_at_machine().rungs, reason="programs cannot be confined on this machine")


@pytest.mark.parametrize(
    ("test", "right", "wrong"),
    [
        ("assert f(1) == 2", 2, 3),
        ("assert 2 == f(1)", 2, 3),
        ("assert f(1) == (3 + 5, [0] * 2)", (8, [0, 0]), [8, [0, 0]]),
        ("assert f(1) is True", True, 1),
        ("assert f(1) is None", None, False),
        ("assert f(1)", [0], []),
        ("assert not f(1)", (), (0,)),
        ("assert abs(f(1) - 0.5) < 0.1", 0.55, 0.7),
        ("assert abs(0.5 - f(1)) <= 0.5", 1.0, 1.1),
        ("assert math.isclose(f(1), 100.0, rel_tol=0.01)", 100.9, 102.0),
        ("assert f(1) == set((1, 2))", {1, 2}, [1, 2]),
        ("x = [1, 2]\nassert f(x) == x", [1, 2], [2, 1]),
        ("def check(candidate):\n    assert candidate(1) == -1, 'why'\n    assert True\ncheck(f)", -1, 1),
        ("assert abs(f(1) - 0.5) < 0.1", 0.5, "0.5"),
    ],
)
def test_cases_say_what_the_assert_says(test: str, right: Any, wrong: Any) -> None:
    from learnable.verifiers.programs.sandbox.jail.codec import encode
    from learnable.verifiers.programs.sandbox.outcome import Answer

    cases = convert(test, "f")
    assert cases is not None
    (case,) = cases
    assert case.passes(Answer(True, encode(right)))
    assert not case.passes(Answer(True, encode(wrong)))
    assert not case.passes(Answer(False, encode(right)))


@pytest.mark.parametrize(
    "test",
    [
        "for n in range(3):\n    assert f(n) == n",
        "assert f(1) == g(1)",
        "assert f(1) in (1, 2)",
        "assert f(1) != 2",
        "assert f(1) == 2 ** 100_000",
        "assert f('a' * 10**9) == 1",
        "assert f(f(1)) == 1",
        "assert f(int) == 1",
        "assert f(1).real == 1",
        "x = 1",
    ],
)
def test_what_is_not_understood_is_left_alone(test: str) -> None:
    assert convert(test, "f") is None


@confined
@pytest.mark.parametrize(
    ("source", "test_code", "share"),
    [
        ("def f(x):\n    return x + 1", "for n in range(50):\n    assert f(n) == n + 1\nassert f(0) in (1, 2)", 1.0),
        ("def f(x):\n    return x + 1", "assert f(0) in (1, 2)\nassert f(0) in (3, 4)\nassert f(1) != 0", 2 / 3),
        ("def f(x):\n    return x[::-1]\ndef g(x):\n    return x", "assert f(g('ab')) == g(f('ab')) == 'ba'", 1.0),
        ("def f(x):\n    raise KeyError(x)", "try:\n    f(1)\nexcept KeyError:\n    seen = 1\nassert seen != 2", 1.0),
        ("def f(x):\n    raise KeyError(x)", "assert f(1) != 2", 0.0),
        ("def f(x):\n    while True: pass", "assert f(1) != 2\nassert f(2) != 2", 0.0),
        ("def f(x):\n    return f", "assert f(1) != 2", 0.0),
        ("import os\ndef f(x):\n    os._exit(0)", "assert f(1) != 2", 0.0),
        ("import os\ndef f(x):\n    os.write(3, b'junk')", "assert f(1) != 2", 0.0),
        ("def f(x:", "assert f(1) != 2", 0.0),
        ("def f(a, b=0, *c):\n    return (a, b, c)", "assert f(1, b={2}) == (1, {2}, ()) != 2", 1.0),
        ("def f(kind):\n    return kind is int", "assert f(int) is not False", 1.0),
    ],
)
def test_the_second_sandbox(source: str, test_code: str, share: float) -> None:
    spec = {"entry": "f", "test_code": test_code, "cpu_seconds": 0.5}
    ProgramVerifier().check_spec(spec)
    score = ProgramVerifier().score(source, prompt="", spec=spec)
    assert score.verdict == "scored"
    assert score.components["tests"] == pytest.approx(share)
    assert score.passed is (share == 1.0)


@confined
def test_broken_test_code_is_no_zero() -> None:
    spec = {"entry": "f", "test_code": "import no_such_module\nassert f(1) != 2"}
    score = ProgramVerifier().score("def f(x):\n    return x", prompt="", spec=spec)
    assert (score.verdict, score.reward) == ("verifier_error", None)
    assert "fails by itself: ModuleNotFoundError" in score.reason


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"entry": "f", "test_code": "assert f("}, "give Python"),
        ({"entry": "f", "test_code": "x = 1"}, "give asserts"),
        ({"entry": "f", "test_code": 3}, "give the text"),
        ({"entry": "f", "test_code": "assert f(1)", "cases": [[[1], 1]]}, "leave one out"),
        ({"stdin": [["a"]]}, "case 0 must be"),
        ({"stdin": []}, "non-empty list"),
        ({"stdin": [["", ""]], "entry": "f"}, "no such key"),
        ({"stdin": [["", ""]], "partial_credit": 2}, "at most 1"),
    ],
)
def test_specs_are_checked(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ProgramVerifier().check_spec(spec)


def public_problems() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name, the reference solution and the spec of each public problem."""
    with gzip.open(PUBLIC / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            spec = {"entry": row["entry_point"], "test_code": row["test"]}
            yield row["task_id"], row["prompt"] + row["canonical_solution"], spec
    for line in (PUBLIC / "mbpp.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tests = "\n".join([row["test_setup_code"], *row["test_list"]])
        called = re.findall(r"(\w+)\s*\(", row["test_list"][0])
        entry = next(name for name in called if re.search(rf"def\s+{name}\b|\b{name}\s*=", row["code"]))
        yield f"mbpp/{row['task_id']}", row["code"], {"entry": entry, "test_code": tests}


@pytest.mark.slow
@confined
@pytest.mark.skipif(not PUBLIC.exists(), reason="the public problems are not here")
def test_public_reference_solutions_pass() -> None:
    converted, failed, own_classes = 0, {}, {}
    with Sandbox() as sandbox:
        for name, source, spec in public_problems():
            is_converted = convert(spec["test_code"], spec["entry"]) is not None
            converted += is_converted
            try:
                score = judge(sandbox, source, spec)
            except BrokenTestsError as error:
                own_classes[name] = str(error)
                continue
            if not score.passed:
                failed[name] = (is_converted, score.reason)
    assert own_classes.keys() == OWN_CLASSES, own_classes
    assert len([name for name, (is_converted, _) in failed.items() if is_converted]) <= 0.002 * converted, failed
    assert not [name for name, (is_converted, _) in failed.items() if not is_converted], failed
    assert converted > 0.95 * 651
