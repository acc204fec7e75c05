"""Rows whose answers are worked solutions that end in "#### 1,234" need no verifier: the number behind it is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.files import prompts as files
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from learnable.verifiers.files.rows import RowReader
from learnable.verifiers.registry import find_verifier

WORKED = "She had 1,200.\nShe got <<1200+34=1234>>34 more.\n#### 1,234"


def read(folder: Path, rows: list[dict[str, Any]], columns: Columns | None = None) -> list[Prompt]:
    path = folder / "gsm8k.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(file_prompts(str(path), columns or Columns("question", "answer")))


def test_the_rows_of_gsm8k_need_no_further_flag(tmp_path: Path) -> None:
    ends = {"#### 1,234": 1234, "#### 72 ": 72, "####-5": -5, "#### 2.50": 2.5, "#### $18": "$18", "#### 25%": "25%"}
    rows = [{"question": f"How many, {end}?", "answer": f"Some work.\n{end}"} for end in ends]
    prompts = read(tmp_path, rows)
    assert {prompt.verifier for prompt in prompts} == {"number"}
    assert [prompt.spec for prompt in prompts] == [{"answer": answer} for answer in ends.values()]
    judge = find_verifier("number")
    for prompt, row in zip(prompts, rows, strict=True):
        judge.check_spec(prompt.spec)
        assert judge.score(row["answer"], prompt=prompt.text, spec=prompt.spec).passed
        assert not judge.score("#### 99", prompt=prompt.text, spec=prompt.spec).passed


def test_what_was_taken_for_granted_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Told:
        def note(self, text: str) -> None:
            said.append(text)

    monkeypatch.setattr(files, "progress", Told)
    read(tmp_path, [{"question": f"How many, {number}?", "answer": WORKED} for number in range(3)])
    [note] = said
    assert "verifier 'number'" in note
    assert "`verifier`" in note


def test_a_row_that_is_no_worked_solution_among_others_is_named(tmp_path: Path) -> None:
    rows = [{"question": "How many?", "answer": WORKED}, {"question": "How many more?", "answer": "1,234"}]
    with pytest.raises(LearnableError, match=r"gsm8k\.jsonl, line 2: column 'answer' is '1,234': .* '#### 1,234'"):
        read(tmp_path, rows)


@pytest.mark.parametrize("answer", ["1,234", "#### 5\nand then some", "#### about five", 7, None])
def test_other_answers_still_need_a_verifier(tmp_path: Path, answer: object) -> None:
    with pytest.raises(LearnableError, match="no verifier"):
        read(tmp_path, [{"question": "How many?", "answer": answer}])


@pytest.mark.parametrize("verifier", ["number", "arithmetic", "counting"])
def test_a_verifier_that_is_named_judges_by_the_number_too(tmp_path: Path, verifier: str) -> None:
    [prompt] = read(
        tmp_path, [{"question": "How many?", "answer": WORKED}], Columns("question", "answer", verifier=verifier)
    )
    assert (prompt.verifier, prompt.spec) == (verifier, {"answer": 1234})
    assert RowReader(verifier).make_spec({"completion": "", "answer": WORKED}) == {"answer": 1234}


def test_a_row_with_a_spec_keeps_it(tmp_path: Path) -> None:
    rows = [{"question": "?", "answer": WORKED, "spec": {"answer": 5}, "verifier": "arithmetic"}]
    [prompt] = read(tmp_path, rows, Columns("question"))
    assert (prompt.verifier, prompt.spec) == ("arithmetic", {"answer": 5})
