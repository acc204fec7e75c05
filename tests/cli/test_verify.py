"""`learnable verify` as it is typed: completions of evaluation sets, and answers in the shapes that models use."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnable.cli.app import app
from learnable.verifiers.programs.sandbox.ladder import look_at_machine
from tests.support.paths import PUBLIC_DATA

PUBLIC = PUBLIC_DATA / "programs"
confined = pytest.mark.skipif(not look_at_machine().rungs, reason="programs cannot be confined on this machine")

Verify = Callable[..., tuple[int, str, list[dict[str, Any]]]]
STUB = "import math\n\ndef area(r: int) -> int:\n    '''Return the area of a circle, rounded down.'''\n"
AREA = {
    "task_id": "Own/0",
    "prompt": STUB,
    "entry_point": "area",
    "canonical_solution": "    return int(math.pi * r * r)\n",
    "test": "def check(candidate):\n    assert candidate(1) == 3\n    assert candidate(2) == 12\n",
}
TWICE = {
    "task_id": 12,
    "text": "Write a function to double a number.",
    "code": "def twice(n):\n    return 2 * n",
    "test_setup_code": "",
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(twice(1), 2)", "assert twice(4) == 8"],
}


@pytest.fixture
def verify(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verify:
    """Run `learnable verify` over rows; return the exit status, stderr on one line, and the scores."""
    monkeypatch.chdir(tmp_path)

    def verify(verifier: str, rows: list[dict[str, Any]], *options: object) -> tuple[int, str, list[dict[str, Any]]]:
        Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        files = ["--input", "in.jsonl", "--output", "out.jsonl", "--quiet", "--workers", "0"]
        with pytest.raises(SystemExit) as ended:
            app(["verify", "--verifier", verifier, *files, *map(str, options)])
        out = Path("out.jsonl")
        scores = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
        return int(ended.value.code or 0), " ".join(capfd.readouterr().err.split()), scores

    return verify


def table(name: str, rows: list[dict[str, Any]]) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return name


@confined
def test_rows_of_humaneval_and_mbpp_with_completions(verify: Verify) -> None:
    shapes = [
        AREA["canonical_solution"],
        f"{STUB}{AREA['canonical_solution']}",
        f"def area(r):\n{AREA['canonical_solution']}",
        f"Sure!\n```python\ndef area(r: int) -> int:\n{AREA['canonical_solution']}```",
        "    pass\n",
    ]
    rows = [{**AREA, "completion": shape} for shape in shapes] + [{**TWICE, "completion": TWICE["code"]}]
    status, _, scores = verify("programs", rows)
    assert status == 0
    assert [row["reward"] for row in scores] == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    assert [row["task_id"] for row in scores] == ["Own/0"] * 5 + [12]


@confined
def test_tests_that_make_objects_of_the_programs_own_classes_are_no_zero(verify: Verify) -> None:
    code = "class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
    code += "def first(pairs):\n    return pairs[0].a\n"
    row = {**TWICE, "code": code, "test_list": ["assert first([Pair(5, 24), Pair(15, 25)]) == 5"]}
    tree = {**row, "test_setup_code": "root = Pair(1, 2)\nroot.a = Pair(3, 4)", "test_list": ["assert first([root])"]}
    status, _, scores = verify("programs", [{**one, "completion": code} for one in (row, tree, TWICE)])
    assert [(one["reward"], one["verdict"]) for one in scores[:2]] == [(None, "verifier_error")] * 2
    assert "the tests make objects of the program's own class Pair" in scores[0]["reason"]
    assert (status, scores[2]["reward"]) == (0, 0.0)


@confined
def test_samples_name_their_problem(verify: Verify) -> None:
    samples = [
        {"task_id": "Own/0", "completion": "    return 3\n"},
        {"task_id": 12, "completion": TWICE["code"], "solution": "x"},
        {"task_id": "Own/0", "completion": AREA["canonical_solution"]},
    ]
    for name in ("problems.jsonl", "problems.jsonl.gz"):
        status, _, scores = verify("programs", samples, "--prompts", table(name, [AREA, TWICE]))
        assert status == 0
        assert [(row["task_id"], row["passed"]) for row in scores] == [("Own/0", False), (12, True), ("Own/0", True)]
        assert scores[0]["reward"] == 0.25


def test_other_tables_are_looked_up_too(verify: Verify) -> None:
    questions = [{"id": "a", "prompt": "1 + 2 =", "answer": 3}, {"id": "b", "prompt": "1 + 3 =", "answer": 4}]
    samples = [{"id": "b", "completion": "4"}, {"id": "a", "completion": "4"}]
    _, _, scores = verify("arithmetic", samples, "--prompts", table("q.jsonl", questions))
    assert [(row["id"], row["reward"]) for row in scores] == [("b", 1.0), ("a", 0.0)]


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        (
            {"task_id": "Own/1", "completion": "x"},
            ["--prompts", "p.jsonl"],
            "task_id 'Own/1' is not a problem of p.jsonl",
        ),
        ({"task_id": "Own/1", "completion": "x"}, ["--prompts", "p.jsonl"], "did you mean 'Own/0'?"),
        ({"completion": "x"}, ["--prompts", "p.jsonl"], "no id of a problem in p.jsonl: add one of task_id"),
        ({"task_id": "Own/0", "completion": "x"}, [], "no tests for 'Own/0': name the table with the problems"),
        ({"task_id": "Own/0", "completion": "x"}, ["--prompts", "none.jsonl"], "'none.jsonl' does not exist"),
        ({"task_id": "Own/0", "completion": "x"}, ["--prompts", "twice.jsonl"], "names another problem already"),
        (
            {**AREA, "test": "x =", "entry_point": "", "completion": "x"},
            [],
            "in.jsonl, line 1: column 'test' is not Python code",
        ),
        (AREA, [], "key 'completion' is missing"),
    ],
)
def test_what_names_no_problem_is_an_error(
    verify: Verify, row: dict[str, Any], options: list[str], message: str
) -> None:
    table("p.jsonl", [AREA])
    table("twice.jsonl", [AREA, {**AREA, "prompt": "import os\n" + STUB}])
    status, err, scores = verify("programs", [row], *options)
    assert (status, scores) == (2, [])
    assert message in err
    assert "Traceback" not in err


@pytest.mark.slow
@confined
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data is not here")
def test_the_public_reference_solutions_pass(verify: Verify) -> None:
    problems = PUBLIC / "HumanEval.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(problems.read_bytes()).splitlines()]
    samples = [{"task_id": row["task_id"], "completion": row["canonical_solution"]} for row in rows]
    _, _, scores = verify("programs", samples, "--prompts", problems)
    assert [row["task_id"] for row in scores if not row["passed"]] == []
    rows = [json.loads(line) for line in (PUBLIC / "mbpp.jsonl").read_text(encoding="utf-8").splitlines()]
    _, _, scores = verify("programs", [{**row, "completion": row["code"]} for row in rows])
    assert {row["task_id"] for row in scores if row["reward"] is None} == {367, 601, 927}  # they have their own classes
    assert {row["task_id"] for row in scores if row["passed"] is False} <= {123}  # which needs all of its two seconds


@pytest.mark.parametrize(
    ("verifier", "spec", "right", "wrong"),
    [
        (
            "arithmetic",
            {"answer": 42},
            ["The answer is 42.", "#### 42", "\\boxed{42}", "Answer: 42", "40 + 2 = 42", "42\nWork out 3 + 4 = 7"],
            ["7 or 42", "40 + 2", "41\nWork out 3 + 39 = 42"],
        ),
        (
            "counting",
            {"answer": 3},
            ["r (1), e, r (2), r (3). There are 3.", "At 3, 8 and 9. The answer is three.", "\\boxed{3}"],
            ["2 or 3", "There are 2, at 1 and 3."],
        ),
        (
            "choice",
            {"answer": "B", "choices": ["A", "B", "C", "D"]},
            ["Let me compare A and B. The answer is B.", "A good question. It is B", "\\boxed{B}", "#### B"],
            ["A B C D", "It is not B but A", "A or B", "B\nA\nC\nD", "A, B, C and D"],
        ),
        ("choice", {"answer": "B"}, ["B", "The answer is B."], ["A B C D", "It is not B but A", "A or B"]),
        ("choice", {"answer": 7}, ["7", "Answer: 7"], ["8"]),
    ],
)
def test_the_answer_that_is_settled_on_is_judged(
    verify: Verify, verifier: str, spec: dict[str, Any], right: list[str], wrong: list[str]
) -> None:
    for beside in ({"spec": spec}, spec):  # an answer may stand in a column, as in files of prompts
        status, err, scores = verify(verifier, [{"completion": text, **beside} for text in [*right, *wrong]])
        assert (status, err) == (0, "")
        assert [row["reward"] for row in scores] == [1.0] * len(right) + [0.0] * len(wrong)


def test_an_answer_that_is_none_is_named_with_its_line(verify: Verify) -> None:
    status, err, _ = verify("choice", [{"completion": "B", "answer": "B", "choices": 7}])
    assert status == 2
    assert "in.jsonl, line 1: column 'choices' is '7'" in err


def test_a_bad_line_costs_itself_and_is_told(verify: Verify) -> None:
    rows = [{"completion": "B", "answer": "B"}, {"answer": "B"}, {"completion": None, "answer": "B"}]
    status, err, scores = verify("choice", rows)
    assert status == 0
    assert "1 of 3 lines are bad and have no reward: in.jsonl, line 2: key 'completion' is missing" in err
    assert [row["reward"] for row in scores] == [1.0, None, None]
    assert [row["verdict"] for row in scores] == ["scored", "verifier_error", "engine_error"]
    assert verify("choice", rows[2:])[0] == 1
