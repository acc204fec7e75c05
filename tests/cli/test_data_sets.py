"""Well-known data sets through the command line: one line of what was recognised, and a preview of what rows became."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.files_for_tests import Find, Run, write

WORKED = [{"question": f"How many are {n} and 1,000?", "answer": f"It is <<{n}>>\n#### 1,00{n}"} for n in range(6)]
SHOW = ("--engine", "simulated", "--no-prefect")


def test_a_preview_costs_nothing(run: Run) -> None:
    status, out, err = run("find", "--prompts", write("gsm8k.jsonl", WORKED), "--show", 2, *SHOW)
    assert status == 0, err
    assert out.count("prompt 1 of 6") == out.count("prompt 2 of 6") == 1
    assert out.count("number, version") == 2
    assert "the number behind the last '####' of column 'answer'" in out
    assert "auto; the answer alone is read as 100" in out
    assert "gsm8k.jsonl looks like GSM8K: the prompt is column 'question'" in err
    assert [path.name for path in Path().iterdir() if "store" in path.name] == []


def test_a_preview_as_json(run: Run) -> None:
    choices = [{"question": f"Which is {n}?", "choices": ["a", "b", "c"], "answer": n % 3} for n in range(4)]
    status, out, err = run("find", "--prompts", write("q.jsonl", choices), "--show", 9, "--json", *SHOW)
    assert status == 0, err
    shown = json.loads(out)
    assert (shown["drawn"], len(shown["prompts"])) == (4, 4)
    assert shown["prompts"][0]["spec"]["choices"] == ["A", "B", "C"]
    assert shown["prompts"][0]["prompt"].endswith("Answer with A, B or C.")


def test_the_split_of_a_saved_data_set_is_said(find: Find) -> None:
    from datasets import Dataset, DatasetDict

    DatasetDict(train=Dataset.from_list(WORKED), test=Dataset.from_list(WORKED[:2])).save_to_disk("both")
    found = find("both", "--split", "test")
    assert found.status == 0, found.err
    assert [prompt.spec for prompt in found.prompts] == [{"answer": 1000}, {"answer": 1001}]
    assert found.err.count("has the splits train, test: test is read (--dataset-split)") == 1
    assert "both looks like GSM8K" in found.err


def test_instructions_are_previewed_with_their_judge(run: Run) -> None:
    rows = [{"prompt": f"Say {n}.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]} for n in range(4)]
    status, out, err = run("find", "--prompts", write("ifeval.jsonl", rows), "--show", 3, *SHOW)
    assert status == 0, err
    assert out.count('{"id": "punctuation:no_comma"}') == 3
    assert out.count("made of the instructions in column 'instruction_id_list'") == 3
    assert (
        "ifeval.jsonl looks like IFEval: the prompt is column 'prompt', the spec is made of the instructions in" in err
    )
    assert "judged by the verifier 'instructions'; --prompt-column, --answer-column and --verifier say otherwise" in err


def test_instructions_that_cannot_be_judged_are_named_by_row_and_value(find: Find) -> None:
    good = {"prompt": "Say it.", "instruction_id_list": ["language:response_language"], "kwargs": [{"language": "de"}]}
    bad = [
        good | {"prompt": "Count.", "instruction_id_list": ["length_constraints:number_word"]},
        good | {"prompt": "Sing.", "kwargs": [{"language": "zu"}]},
    ]
    found = find(write("q.jsonl", [good, *bad]))
    assert found.status == 2
    assert "q.jsonl, line 2: spec key 'instructions.0.id' is 'length_constraints:number_word': no such" in found.err
    assert "did you mean 'length_constraints:number_words'?" in found.err
    assert "q.jsonl, line 3: spec key 'instructions.0.language' is 'zu': no answer can be told to be in it" in found.err
    assert found.prompts == []
