"""`--spec`: one spec for the judge of every prompt, of a file without such a column and of the built-in families."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.verifiers.families.prompts import builtin_prompts
from tests.cli.files_for_tests import Find, write
from tests.flows.scripted_shell_for_tests import ScriptedShell

BOXED = '{"extract": "boxed"}'
WORKED = [{"prompt": f"What is {n} and 1?", "answer": f"That is <<{n}+1>>.\n#### {n + 1}"} for n in range(4)]


def specs(find: Find, rows: list[dict[str, Any]], *arguments: object) -> list[dict[str, Any]]:
    found = find(write("q.jsonl", rows), *arguments)
    assert found.status == 0, found.err
    return [dict(prompt.spec) for prompt in found.prompts]


def test_it_goes_with_the_answer_of_every_row(find: Find) -> None:
    wanted = [{"answer": n + 1, "extract": "boxed"} for n in range(4)]
    assert specs(find, WORKED, "--verifier", "number", "--spec", BOXED) == wanted
    assert specs(find, WORKED, "--spec", BOXED) == wanted  # judged by the verifier that the answers tell
    Path("spec.json").write_text(BOXED)
    assert specs(find, WORKED, "--verifier", "number", "--spec", "@spec.json") == wanted


def test_what_a_row_says_comes_first(find: Find) -> None:
    rows = [{"prompt": "a", "spec": {"answer": 1, "extract": "last"}}, {"prompt": "b", "spec": {"answer": 2}}]
    found = specs(find, rows, "--verifier", "number", "--spec", BOXED)
    assert found == [{"answer": 1, "extract": "last"}, {"answer": 2, "extract": "boxed"}]


def test_it_may_be_all_that_a_judge_needs(find: Find) -> None:
    pattern = {"pattern": "^<answer>"}
    rows = [{"prompt": "a"}, {"prompt": "b", "answer": 7}]  # `regex` knows no answer
    assert specs(find, rows, "--verifier", "regex", "--spec", json.dumps(pattern)) == [pattern, pattern]
    choices = {"choices": ["yes", "no", "maybe"]}
    rows = [{"prompt": "a", "answer": "yes"}, {"prompt": "b", "answer": "no"}]
    assert specs(find, rows, "--verifier", "choice", "--spec", json.dumps(choices)) == [
        {"answer": "yes", **choices},
        {"answer": "no", **choices},
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{", "--spec '{' is not JSON"),
        ("[1]", "--spec '[1]' is not a JSON object"),
        ("@missing.json", "--spec @missing.json: the file cannot be read"),
        (
            '{"extrakt": "boxed"}',
            "q.jsonl, line 1: spec key 'extrakt' is 'boxed': no such key; did you mean 'extract'?",
        ),
    ],
)
def test_what_is_no_spec_is_named(find: Find, spec: str, message: str) -> None:
    found = find(write("q.jsonl", WORKED), "--verifier", "number", "--spec", spec)
    assert (found.status, found.prompts) == (2, [])
    assert message in found.err


def test_without_it_a_row_that_says_nothing_is_refused(find: Find) -> None:
    found = find(write("q.jsonl", [{"prompt": "a"}]), "--verifier", "number")
    assert found.status == 2
    assert "no column says what is right" in found.err
    assert "--spec" in found.err
    assert "'answer' is missing" in find("q.jsonl", "--verifier", "number", "--spec", BOXED).err


def test_the_built_in_families_take_it_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd)
    plain = ("--form", "Addition", "--limit", 2, "--group-size", 2)
    spec = {"reward": "distance"}
    shell.script = {prompt.text: ["5"] for prompt in builtin_prompts(["Addition"], (), 2, 0)}
    typed = shell.find(*plain, "--spec", json.dumps(spec), "--store", "other")
    rows = read_pool(typed.report["curated"])
    assert [json.loads(row["spec"]) for row in rows] == [
        {"answer": json.loads(row["spec"])["answer"], **spec} for row in rows
    ]
    assert sorted(row["prompt"] for row in rows) == sorted(shell.script)


def read_pool(curated: str) -> list[dict[str, Any]]:
    found = open_curated(curated)
    return [row for part in ("train", "test", "rejects") for row in found.read(part).to_pylist()]
