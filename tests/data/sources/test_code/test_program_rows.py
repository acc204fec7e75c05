from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from tests.support.paths import PUBLIC_DATA

PUBLIC = PUBLIC_DATA / "programs"
STUB = "import math\n\ndef helper(n):\n    return n\n\ndef double(n):\n    '''Return n twice over.'''\n"
HUMANEVAL = {
    "task_id": "H/0",
    "prompt": STUB,
    "entry_point": "double",
    "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(4) == 8\n",
}
MBPP = {
    "task_id": 1,
    "text": "Write a function to double a number.",
    "code": "def double(n):\n    return 2 * n",
    "test_setup_code": "",
    "test_list": ["assert double(1) == 2", "assert double(4) == 8"],
    "challenge_test_list": ["assert double(0) == 0"],
}
CASES = [[[1], 2], [[4], 8]]


def read(path: Path, row: dict[str, Any], **columns: str) -> Prompt:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(json.dumps(row).encode()))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([row]), path)
    else:
        path.write_text(json.dumps(row))
    [prompt] = file_prompts(str(path), Columns(**columns))
    return prompt


def test_humaneval_is_known_by_its_columns(tmp_path: Path) -> None:
    prompt = read(tmp_path / "Human.jsonl.gz", HUMANEVAL)
    assert (prompt.text, prompt.verifier, prompt.family, prompt.form) == (STUB, "programs", "Human", "Human")
    assert prompt.spec == {"entry": "double", "cases": CASES, "equality": "plain", "stub": STUB}


@pytest.mark.parametrize(
    "prompt",
    [
        f"Complete this function. Answer with code alone.\n\n```python\n{STUB}```\n",
        [{"role": "system", "content": "You write Python."}, {"role": "user", "content": f"Go on:\n\n{STUB}\nThanks!"}],
    ],
    ids=["a fence", "a chat"],
)
def test_a_stub_in_other_words_is_found(prompt: Any, tmp_path: Path) -> None:
    test = "def check(candidate):\n    for n in range(3):\n        assert candidate(helper(n)) == 2 * n\n"
    read_as = read(tmp_path / "h.jsonl", {**HUMANEVAL, "prompt": prompt, "test": test}).spec
    assert read_as["stub"].strip() == STUB.strip()
    scope: dict[str, Any] = {"double": lambda n: 2 * n}
    exec(read_as["test_code"], scope)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_mbpp_is_known_by_its_columns_and_told_what_the_function_is_called(tmp_path: Path, suffix: str) -> None:
    prompt = read(tmp_path / f"m{suffix}", MBPP)
    assert prompt.spec == {"entry": "double", "cases": [*CASES, [[0], 0]], "equality": "plain"}
    assert prompt.text.startswith(MBPP["text"])
    assert "Call the function double." in prompt.text
    assert [test for test in ("double(1) == 2", "double(4) == 8", "double(0) == 0") if test in prompt.text] == [
        "double(1) == 2"
    ]


def test_a_single_test_is_not_shown(tmp_path: Path) -> None:
    prompt = read(tmp_path / "m.jsonl", {**MBPP, "test_list": ["assert double(1) == 2"], "challenge_test_list": []})
    assert "double(1)" not in prompt.text
    assert prompt.text.endswith("Call the function double.")


def test_tests_that_are_no_cases_stay_code_and_get_the_helpers_of_the_stub(tmp_path: Path) -> None:
    test = "def check(candidate):\n    for n in range(3):\n        assert candidate(helper(n)) == 2 * n\n"
    prompt = read(tmp_path / "h.jsonl", {**HUMANEVAL, "test": test})
    assert set(prompt.spec) == {"entry", "test_code", "stub"}
    scope: dict[str, Any] = {"double": lambda n: 2 * n}
    exec(prompt.spec["test_code"], scope)
    with pytest.raises(AssertionError):
        exec(prompt.spec["test_code"], {"double": lambda n: n})


def test_any_table_with_a_prompt_and_tests(tmp_path: Path) -> None:
    row = {"question": "Double it.", "unit_tests": "assert double(1) == 2\nassert double(4) == 8"}
    prompt = read(tmp_path / "t.jsonl", row, prompt="question", answer="unit_tests", verifier="programs")
    assert prompt.spec["cases"] == CASES
    named = read(
        tmp_path / "t.jsonl", {"prompt": "Write double(n).", "tests": row["unit_tests"], "verifier": "programs"}
    )
    assert (named.text, named.spec) == ("Write double(n).", prompt.spec)


def test_what_a_program_reads_and_writes(tmp_path: Path) -> None:
    row = {"question": "Echo.", "input_output": json.dumps({"inputs": ["1\n", "2\n"], "outputs": ["1\n", "2\n"]})}
    prompt = read(tmp_path / "s.jsonl", row, verifier="programs")
    assert (prompt.text, prompt.spec) == ("Echo.", {"stdin": [["1\n", "1\n"], ["2\n", "2\n"]]})


def test_rows_for_other_verifiers_and_rows_with_a_spec_are_left_alone(tmp_path: Path) -> None:
    row = {"prompt": "x", "test": "y", "answer": 4}
    assert read(tmp_path / "a.jsonl", row, verifier="arithmetic").spec == {"answer": 4}
    spec = {"entry": "f", "cases": [[[1], 1]]}
    assert read(tmp_path / "b.jsonl", {**HUMANEVAL, "spec": spec}, verifier="programs").spec == spec


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_list": ["assert double(1) =="]}, r"line 1: column 'test_list' is not Python code"),
        ({"test_list": ["assert one(1) == two(1)"], "code": ""}, r"column 'entry_point'"),
        ({"test_list": [3]}, r"code, or a list of asserts"),
        ({"test_list": {"inputs": ["1"], "outputs": []}}, r"as many texts in 'inputs' as in 'outputs'"),
        ({"test_list": {"inputs": [[1]], "outputs": [2], "fn_name": "f"}}, r"give 'spec' with 'entry' and 'cases'"),
        ({"text": " "}, r"line 1: column 'prompt' is"),
    ],
)
def test_bad_tests_name_place_and_fix(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read(tmp_path / "m.jsonl", {**MBPP, "challenge_test_list": [], **change})


def test_a_cut_gzip_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(b"{}")[:-4])
    with pytest.raises(LearnableError, match=r"q\.jsonl\.gz' is not a whole gzip file"):
        list(file_prompts(str(tmp_path / "q.jsonl.gz"), Columns()))


RUN = """
import json, sys
failed = []
for number, (source, spec) in enumerate(json.load(sys.stdin)):
    scope = {"__name__": "reference"}
    try:
        exec(source, scope)
        if "cases" in spec:
            for arguments, expected in spec["cases"]:
                answer = json.loads(json.dumps(scope[spec["entry"]](*arguments)))
                assert answer == expected, (arguments, answer, expected)
        else:
            exec(spec["test_code"], scope)
    except Exception as error:
        failed.append([number, repr(error)[:200]])
print("\\n" + json.dumps(failed))
"""


def run_references(sources: list[str], prompts: list[Prompt]) -> list[Any]:
    jobs = json.dumps([[source, dict(prompt.spec)] for source, prompt in zip(sources, prompts, strict=True)])
    done = subprocess.run([sys.executable, "-I", "-c", RUN], input=jobs, capture_output=True, text=True, check=True)
    failed: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return failed


CHECKS = "def check(candidate):\n    assert candidate(1) == 2\n"
INC = {"entry": "inc", "cases": [[[1], 2]], "equality": "plain"}
LINES = {"stdin": [["1\n", "2\n"]]}
PAIR = {"input": "1\n", "output": "2\n"}


@pytest.mark.parametrize(
    ("row", "spec"),
    [
        ({"prompt": "Add one.", "tests": {"functional": CHECKS}, "metadata": {"func_name": "inc"}}, INC),
        ({"prompt": "Add one.", "tests": json.dumps({"functional": CHECKS}), "metadata": '{"func_name": "inc"}'}, INC),
        ({"prompt": "Write a function `inc(n)`.", "tests": CHECKS}, INC),
        ({"prompt": "Add one.", "tests": CHECKS, "solution": "def inc(n):\n    return n + 1\n"}, INC),
        ({"prompt": "Add one.", "tests": f"{CHECKS}\ncheck(inc)\n"}, INC),
        ({"prompt": "Add one.", "tests": f"{CHECKS}\ncheck(Solution().inc)\n"}, INC),
        ({"prompt": "Add one.", "tests": CHECKS, "entry_point": "Solution().inc"}, INC),
        (
            {"prompt": "Add one.", "tests": CHECKS, "starter_code": "class Solution:\n    def inc(self, n):\n        "},
            INC,
        ),
        ({"prompt": "Add one.", "tests": [PAIR]}, LINES),
        ({"prompt": "Add one.", "tests": json.dumps([PAIR | {"testtype": "stdin"}])}, LINES),
        ({"description": "Add one.", "input_format": "n", "output_format": "n + 1", "official_tests": [PAIR]}, LINES),
        ({"description": "Add one.", "public_tests": {"input": ["1\n"], "output": ["2\n"]}}, LINES),
        ({"prompt": "Add one.", "tests": [{"input": ["1", "5"], "expected_output": 2}]}, {"stdin": [["1\n5", "2"]]}),
        (
            {
                "question_content": "Add one.",
                "public_test_cases": json.dumps([{"input": "1", "output": "2", "testtype": "functional"}]),
                "metadata": '{"func_name": "inc"}',
            },
            INC,
        ),
    ],
)
def test_tests_as_others_write_them(row: dict[str, Any], spec: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    [prompt] = file_prompts(str(path), Columns(verifier="programs"))
    assert (prompt.verifier, dict(prompt.spec)) == ("programs", spec)
    assert "starter_code" not in row or row["starter_code"].rstrip() in prompt.text
    assert "input_format" not in row or prompt.text == "Add one.\n\nn\n\nn + 1"


@pytest.mark.parametrize(
    "tests", [[{"input": "1"}], [{"input": {"n": 1}, "output": "2"}], {"inputs": ["1"], "outputs": []}]
)
def test_tests_that_lack_a_side_are_bad_rows(tests: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"prompt": "Add one.", "tests": tests}) + "\n", encoding="utf-8")
    with pytest.raises(LearnableError, match="line 1: column 'tests'"):
        list(file_prompts(str(path), Columns(verifier="programs")))


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data is not here")
def test_the_reference_solutions_of_humaneval_pass() -> None:
    place = PUBLIC / "HumanEval.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(place.read_bytes()).splitlines()]
    prompts = list(file_prompts(str(place), Columns()))
    assert [prompt.text for prompt in prompts] == [row["prompt"] for row in rows]
    assert sum("cases" in prompt.spec for prompt in prompts) >= 0.8 * len(rows)
    assert run_references([row["prompt"] + row["canonical_solution"] for row in rows], prompts) == []


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data is not here")
def test_the_reference_solutions_of_mbpp_pass() -> None:
    place = PUBLIC / "mbpp.jsonl"
    rows = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    prompts = list(file_prompts(str(place), Columns()))
    assert sum("cases" in prompt.spec for prompt in prompts) >= 0.75 * len(rows)
    assert run_references([row["code"] for row in rows], prompts) == []
