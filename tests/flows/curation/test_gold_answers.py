"""A gold answer that nobody could give is a bad row when the rows are read: it is named, and costs itself alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings.curation import CurateSettings, PromptSettings


def test_a_gold_answer_that_cannot_be_read_costs_its_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    answers = [r"\textcircled{1}", r"\frac{1}{2", "b > a > c", r"\$36"]
    path.write_text("\n".join(json.dumps({"prompt": f"q{i}", "answer": one}) for i, one in enumerate(answers)))
    wanted = PromptSettings(location=str(path), answer_column="answer", verifier="mathematics", skip_bad_rows=True)
    read = read_prompts(CurateSettings(prompts=wanted))
    assert {prompt.spec["answer"] for prompt in read.prompts} == {*answers} - {answers[1]}
    assert read.bad_rows == 1
    with pytest.raises(LearnableError, match=r"rows\.jsonl, line 2: .*'answer' is .*braces are closed"):
        read_prompts(CurateSettings(prompts=replace(wanted, skip_bad_rows=False)))
