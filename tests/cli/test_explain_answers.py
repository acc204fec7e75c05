"""`learnable explain --verifier`: what was read out of a completion, by which rule, and what it is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.cli.app import app


def explain(folder: Path, completion: str, *arguments: str) -> int:
    path = folder / "completion.txt"
    path.write_text(completion, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        app(["explain", *arguments, str(path)])
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_an_answer_is_explained(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = {"answer": "1,234", "reward": {"right": {"kind": "correct"}, "tags": {"kind": "tags"}}}
    assert explain(tmp_path, r"It is \boxed{1,235}.", "--verifier", "number", "--spec", json.dumps(spec)) == 0
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    assert lines == [
        "rule boxed",
        "read 1235",
        'expected "1,234"',
        "right 0.00",
        "tags 0.00",
        "reward 0.000; does not pass (scored)",
        "reason answered 1235",
    ]
    assert explain(tmp_path, "none", "--json", "--verifier", "choice", "--spec", '{"answer": "A"}') == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["read"], found["passed"]) == (None, False)
    assert found["reason"] == "extraction_failed: no choice found"


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        ("numbr", "{}", "did you mean 'number'"),
        ("number", "{}", "'answer' is missing"),
        ("number", "[1]", "is not a JSON object"),
        ("text", '{"answer": "a", "extract": "regex:(a+)+b"}', "would take it years"),
    ],
)
def test_what_cannot_be_explained_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, spec: str, message: str
) -> None:
    assert explain(tmp_path, "a", "--verifier", name, "--spec", spec) == 2
    assert message in " ".join(capfd.readouterr().err.split())
