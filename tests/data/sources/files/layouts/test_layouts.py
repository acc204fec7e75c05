"""Layouts of well-known data sets, by tiny rows made up here: what is told of a file, and what its rows become."""

from __future__ import annotations

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.layouts.readings import READINGS, last_boxed
from learnable.data.sources.files.layouts.recognition import LOOKED_AT, recognise
from learnable.data.sources.files.layouts.table import LAYOUTS
from learnable.data.sources.files.rows import prompts_from_rows
from learnable.verifiers.registry import find_verifier
from tests.data.sources.files.layouts.rows_for_tests import Row, find, place, read
from tests.support.paths import ROOT

ASK = [{"role": "user", "content": "Say it."}]
WORKED = {"question": "How many?", "answer": "9 + 1 = 10\n#### 1,010"}
SOLVED = {"problem": "Halve 1.", "solution": r"It is $\boxed{\frac{1}{2}}$.", "level": "Level 3", "type": "Halves"}
MMLU = {"question": "Which?", "choices": ["red", "blue", "green"], "answer": 1, "subject": "colours"}
LETTERED = {"question": "Which?", "A": "x", "B": "y", "C": "z", "answer": "A"}
VERL = {"prompt": ASK, "ability": "math", "reward_model": {"style": "rule", "ground_truth": "72"}, "extra_info": {}}
APPS = {"question": "Add.", "input_output": '{"inputs": ["1"], "outputs": ["2"]}', "difficulty": "interview"}
MBPP = {"text": "Write a function to add.", "code": "def add(a, b): ...", "test_list": ["assert add(1, 2) == 3"]}
HUMAN = {"prompt": "def add(a, b):", "entry_point": "add", "test": "def check(f):\n    assert f(1, 2) == 3"}
SCIQ = {"question": "?", "correct_answer": "water", "distractor1": "wood", "distractor2": "air", "distractor3": "fire"}
GPQA = {
    "Question": "?",
    "Correct Answer": "2",
    **{f"Incorrect Answer {n}": text for n, text in enumerate("431", start=1)},
}
GYM = {"question": "How many legs?", "answer": "4", "metadata": {"source_dataset": "leg_counting", "source_index": 0}}


@pytest.mark.parametrize(
    ("name", "row", "verifier", "spec"),
    [
        ("GSM8K", WORKED, "number", {"answer": 1010}),
        ("GSM8K", {"prompt": "How many?", "answer": "#### -5"}, "number", {"answer": -5}),
        ("MATH", SOLVED, "mathematics", {"answer": r"\frac{1}{2}"}),
        ("AIME", {"ID": 1, "Problem": "How many?", "Solution": "...", "Answer": "073"}, "number", {"answer": 73}),
        ("AIME", {"problem": "How many?", "answer": 204.0, "year": 1999}, "number", {"answer": 204}),
        ("MATH with answers", SOLVED | {"answer": "1/2"}, "mathematics", {"answer": "1/2"}),
        ("MATH with answers", {"problem": "?", "answer": "1000"}, "mathematics", {"answer": "1000"}),
        (
            "MMLU",
            MMLU,
            "choice",
            {"answer": "B", "choices": ["A", "B", "C"], "texts": ["red", "blue", "green"]},
        ),
        ("MMLU", MMLU | {"answer": "C"}, "choice", {"answer": "C", "choices": ["A", "B", "C"]}),
        ("MMLU", MMLU | {"answer": "Green"}, "choice", {"answer": "C", "choices": ["A", "B", "C"]}),
        (
            "MMLU",
            MMLU | {"choices": ["3", "2", "1", "0"], "answer": 3},
            "choice",
            {"answer": "D", "choices": [*"ABCD"]},
        ),
        (
            "MMLU-Pro",
            {"question": "?", "options": [f"option {n}" for n in range(10)], "answer": "I", "answer_index": 8},
            "choice",
            {"answer": "I", "choices": [*"ABCDEFGHIJ"]},
        ),
        (
            "multiple choice",
            {"": "0", "Question": "?", "A": "x", "B": "y", "C": "z", "D": "w", "E": "v", "Answer": "E"},
            "choice",
            {"answer": "E", "choices": [*"ABCDE"]},
        ),
        (
            "ARC",
            {"question": "?", "choices": {"label": ["1", "2"], "text": ["x", "y"]}, "answerKey": "2"},
            "choice",
            {"answer": "2", "choices": ["1", "2"]},
        ),
        (
            "ARC",
            {"question": {"stem": "?", "choices": [{"label": v, "text": v * 3} for v in "AB"]}, "answerKey": "B"},
            "choice",
            {"answer": "B", "choices": ["A", "B"]},
        ),
        ("verl", VERL, "number", {"answer": 72}),
        ("verl", VERL | {"reward_model": {"ground_truth": "\\frac12"}}, "mathematics", {"answer": "\\frac12"}),
        ("verl", VERL | {"reward_model": "{'ground_truth': '7'}"}, "number", {"answer": 7}),
        ("RLVR", {"messages": ASK, "ground_truth": "3", "dataset": "gsm8k"}, "number", {"answer": 3}),
        ("TRL", {"prompt": ASK, "solution": r"So $\boxed{3}$."}, "mathematics", {"answer": "3"}),
        ("TRL", {"prompt": ASK, "solution": r"$x^2$"}, "mathematics", {"answer": "x^2"}),
        ("TRL", {"prompt": ASK, "solution": "A long\nway.", "answer": "x^2"}, "mathematics", {"answer": "x^2"}),
        ("MGSM", {"question": "How many?", "answer": None, "answer_number": 7}, "number", {"answer": 7}),
        ("MetaMathQA", {"query": "?", "response": "2 + 5 = 7\nThe answer is: 7"}, "number", {"answer": 7}),
        ("MetaMathQA", {"query": "?", "response": "The answer is: $x^2$."}, "mathematics", {"answer": "x^2"}),
        (
            "TheoremQA, WebInstruct",
            {"Question": "?", "Answer": "2.5", "Answer_type": "float"},
            "number",
            {"answer": 2.5},
        ),
        (
            "TheoremQA, WebInstruct",
            {"question": "?", "answer": "5 m/s", "answer_type": "Float"},
            "mathematics",
            {"answer": "5 m/s"},
        ),
        (
            "LogiQA",
            {"context": "So.", "query": "?", "options": ["x", "y"], "correct_option": 1},
            "choice",
            {"answer": "B"},
        ),
        (
            "PIQA",
            {"goal": "Open it.", "sol1": "x", "sol2": "y", "label": 0},
            "choice",
            {"answer": "A", "texts": ["x", "y"]},
        ),
        ("WinoGrande", {"sentence": "_ is.", "option1": "x", "option2": "y", "answer": "2"}, "choice", {"answer": "B"}),
        (
            "MedMCQA",
            {"question": "?", "opa": "x", "opb": "y", "opc": "z", "opd": "w", "cop": 2},
            "choice",
            {"answer": "C"},
        ),
        ("SciQ", SCIQ, "choice", {"answer": "C", "texts": ["air", "fire", "water", "wood"]}),
        ("GPQA", GPQA, "choice", {"answer": "B", "texts": ["1", "2", "3", "4"]}),
        ("yes or no", {"question": "Is it?", "answer": False}, "choice", {"answer": "no", "choices": ["yes", "no"]}),
        ("yes or no", {"question": "Is it?", "answer": "Yes"}, "choice", {"answer": "yes"}),
        (
            "TriviaQA",
            {"question": "?", "answer": {"aliases": ["x", "y"], "value": "x"}},
            "text",
            {"answer": ["x", "y"]},
        ),
        ("NQ-Open", {"question": "?", "answer": ["x", "y"]}, "text", {"answer": ["x", "y"]}),
        (
            "SimpleQA",
            {"metadata": "{'topic': 'Art', 'answer_type': 'Person'}", "problem": "Who?", "answer": "Edda Falk"},
            "text",
            {"answer": "Edda Falk"},
        ),
        (
            "DeepMath",
            {"question": "?", "final_answer": "x^2", "r1_solution_1": "So."},
            "mathematics",
            {"answer": "x^2"},
        ),
        (
            "ScienceQA",
            {"question": "?", "choices": ["x", "y"], "answer": 1, "hint": "So.", "skill": "Look"},
            "choice",
            {"answer": "B"},
        ),
        ("ReClor", {"context": "So.", "question": "?", "answers": ["x", "y"], "label": 1}, "choice", {"answer": "B"}),
        (
            "Cosmos QA",
            {"question": "?", **{f"answer{n}": "xyzw"[n] for n in range(4)}, "label": 2},
            "choice",
            {"answer": "C"},
        ),
        (
            "Social IQa",
            {"question": "?", "answerA": "x", "answerB": "y", "answerC": "z", "label": "2"},
            "choice",
            {"answer": "B", "texts": ["x", "y", "z"]},
        ),
        (
            "MuSR",
            {"narrative": "So.", "question": "?", "choices": "['x', 'y']", "answer_index": "1", "answer_choice": "y"},
            "choice",
            {"answer": "B"},
        ),
        ("BIG-Bench Hard", {"input": "Which?\n(A) x\n(B) y", "target": "(B)"}, "choice", {"answer": "B"}),
        (
            "ProofWriter",
            {"theory": "Rex is big.", "question": "Rex is big.", "answer": "True"},
            "choice",
            {"answer": "true", "choices": ["true", "false", "unknown"]},
        ),
        ("FOLIO", {"premises": "So.", "conclusion": "?", "label": "Uncertain"}, "choice", {"answer": "uncertain"}),
        (
            "SYNTHETIC-1",
            {"task_type": "verifiable_math", "prompt": "?", "verification_info": "{'ground_truth': '576'}"},
            "number",
            {"answer": 576},
        ),
        (
            "reasoning-gym",
            GYM,
            "reasoning-gym",
            {"dataset": "leg_counting", "answer": "4", "metadata": GYM["metadata"]},
        ),
        ("HumanEval", HUMAN, "programs", {"entry": "add", "cases": [[[1, 2], 3]], "equality": "plain"}),
        ("MBPP", MBPP, "programs", {"entry": "add", "cases": [[[1, 2], 3]], "equality": "plain"}),
        ("APPS", APPS, "programs", {"stdin": [["1", "2"]]}),
    ],
)
def test_each_layout_is_told_and_its_specs_suit_its_judges(name: str, row: Row, verifier: str, spec: Row) -> None:
    found = find([row])
    assert found is not None
    assert found.layout.name == name
    [prompt] = read([row])
    assert prompt.verifier == verifier
    assert {key: prompt.spec[key] for key in spec} == spec
    find_verifier(verifier).check_spec(prompt.spec)
    assert prompt.verifier in found.layout.verifiers


def test_two_layouts_that_find_the_same_answers_are_no_doubt() -> None:
    row = {"prompt": "How many?", "solution": "8", "ability": "MATH", "reward_model": {"ground_truth": "8"}}
    assert [prompt.spec["answer"] for prompt in read([row])] == [8]
    with pytest.raises(BadRowError, match=r"look like verl .* and like TRL"):
        read([row | {"solution": "9"}])
    gaps = [row, row | {"solution": ""}, row | {"reward_model": {"ground_truth": ""}}]
    assert (found := find(gaps)) is not None
    assert found.layout.name == "verl"


def test_the_page_lists_every_layout() -> None:
    page = (ROOT / "docs" / "reference" / "layouts.md").read_text(encoding="utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    for layout in LAYOUTS:
        assert all(f"`{verifier}`" in rows[layout.name] for verifier in layout.verifiers[:1]) or layout.name == "RLVR"
        assert any(f"`{name}" in rows[layout.name] for name in layout.prompt), layout.name
        assert any(f"`{name}`" in rows[layout.name] for name in layout.answer), layout.name


def test_every_layout_of_the_table_can_be_read() -> None:
    assert {layout.reading for layout in LAYOUTS} == set(READINGS)


@pytest.mark.parametrize(
    ("row", "level"),
    [
        (SOLVED, 3),
        (SOLVED | {"level": "Level ?"}, None),
        (SOLVED | {"level": 5, "answer": "x"}, 5),
        (APPS, 2),
        (APPS | {"difficulty": "UNKNOWN"}, None),
        (WORKED | {"difficulty": 1.5}, 1.5),
        (WORKED | {"": "9"}, None),
    ],
)
def test_levels_in_words_are_numbers(row: Row, level: float | None) -> None:
    assert read([row])[0].difficulty == level


def test_choices_are_listed_below_the_question_and_columns_go_along() -> None:
    [prompt] = read([MMLU])
    assert prompt.prompt == "Which?\n\nA. red\nB. blue\nC. green\n\nAnswer with A, B or C."
    assert prompt.columns == {"choices": ["red", "blue", "green"], "answer": 1, "subject": "colours"}


def test_one_line_says_what_was_recognised_and_how_to_say_otherwise() -> None:
    found = find([VERL])
    assert found is not None
    assert found.describe("q.parquet") == (
        "q.parquet looks like verl: the prompt is column 'prompt', the answer is the number or expression in column "
        "'reward_model.ground_truth', judged by the verifier 'number' where it is a number, else by the verifier "
        "'mathematics'; `prompt_column`, `answer_column` and `verifier` say otherwise"
    )


# Flags come first.


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        (WORKED, {"prompt": "question", "verifier": "text"}),
        (WORKED, {"answer": "answer", "verifier": "text"}),
        (WORKED, {"verifier": "judge.py:score"}),
        (MMLU, {"answer": "subject"}),
        (MMLU, {"prompt": "subject"}),
        (MMLU | {"prompt": "Another question?"}, {}),
        ({"prompt": "2 + 2", "answer": "4", "solution": "$5$"}, {"verifier": "number"}),
        ({"prompt": "Write.", "form": "Haiku", "solution": "$5$"}, {"verifier": "poetry"}),
        (WORKED | {"verifier": "text"}, {}),
        (WORKED | {"spec": {"answer": 1}}, {}),
        ({"question": "2 + 2", "answer": "4"}, {}),
        ({"text": "2 + 2", "label": 4}, {"prompt": "text", "answer": "label"}),
    ],
)
def test_what_is_named_is_not_guessed(row: Row, columns: dict[str, str]) -> None:
    assert find([row], **columns) is None


def test_columns_that_are_named_may_be_the_layouts_own_and_marked_answers_may_be_anywhere() -> None:
    assert read([MMLU], prompt="question", answer="answer")[0].spec["answer"] == "B"
    row = {"stem": "How many?", "worked": WORKED["answer"]}
    assert read([row], prompt="stem", answer="worked")[0].spec == {"answer": 1010}
    assert read([SOLVED | {"answer": "x"}], answer="solution")[0].spec == {"answer": r"\frac{1}{2}"}


def test_a_judge_that_is_named_alone_judges_what_the_layout_reads() -> None:
    [prompt] = read([SOLVED], verifier="text")
    assert (prompt.prompt, prompt.verifier, prompt.spec) == ("Halve 1.", "text", {"answer": r"\frac{1}{2}"})
    assert "judged by the verifier 'text'" in str(find([SOLVED], verifier="text").describe("q"))  # type: ignore[union-attr]


def test_a_prompt_column_that_there_is_not_is_named_with_the_likeliest() -> None:
    with pytest.raises(BadRowError, match=r"no column 'qestion' .*did you mean 'question'"):
        read([WORKED], prompt="qestion")


def test_a_judge_that_tests_do_not_suit_is_not_overruled() -> None:
    with pytest.raises(BadRowError, match="no column says what is right"):
        read([HUMAN], verifier="text")


# Two layouts, and rows that differ.


def test_two_layouts_are_no_guess() -> None:
    row = VERL | {"solution": r"$\boxed{3}$"}
    with pytest.raises(BadRowError, match=r"line 1: the rows look like verl \(.*\) and like TRL \(.*`answer_column`"):
        find([row])
    assert read([row], answer="solution")[0].spec == {"answer": "3"}
    assert read([row], answer="reward_model.ground_truth")[0].spec == {"answer": 72}


def test_as_many_rows_of_one_layout_as_of_another_are_no_guess() -> None:
    with pytest.raises(BadRowError, match=r"like GSM8K \(.*\) and like MMLU \(.*split a file that has rows of both"):
        find([WORKED, MMLU])


def test_of_two_layouts_in_the_same_columns_the_answers_tell() -> None:
    whole = [{"problem": f"{n}?", "answer": n} for n in range(5)]
    assert find(whole).layout.name == "AIME"  # type: ignore[union-attr]
    assert find([*whole, {"problem": "?", "answer": "7/2"}]).layout.name == "MATH with answers"  # type: ignore[union-attr]
    assert find([*whole, {"problem": "?", "answer": ""}]).layout.name == "AIME"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        (WORKED, {"question": "?", "answer": "7"}, r"line 2: column 'answer' is '7': .*'#### 1,234' \(the file looks"),
        (SOLVED, SOLVED | {"solution": r"\boxed{1"}, r"line 2: column 'solution' is .*boxed"),
        (MMLU, MMLU | {"answer": 3}, r"line 2: column 'answer' is 3: an answer is one of A, B, C, .*0 to 2"),
        (MMLU, MMLU | {"answer": "E"}, r"line 2: column 'answer' is 'E'"),
        (MMLU, MMLU | {"answer": True}, r"line 2: column 'answer' is True"),
        (MMLU, MMLU | {"choices": ["B", "A"], "answer": "A"}, r"line 2: .* may be choice A or B"),
        (MMLU, MMLU | {"choices": ["2", "1", "0"], "answer": "0"}, r"line 2: .* may be choice A or C"),
        (MMLU, MMLU | {"choices": ["red"]}, r"line 2: .*there are 1 choices"),
        (MMLU, MMLU | {"choices": 7}, r"line 2: column 'choices' is '7'"),
        (MMLU, WORKED, r"line 2: no column 'choices'"),
        (LETTERED, LETTERED | {"B": ""}, "line 2: column 'B' is empty"),
        (VERL, VERL | {"ability": "code"}, r"line 2: column 'ability' is 'code': rows of math alone"),
        (VERL, VERL | {"reward_model": {"style": "rule"}}, r"line 2: column 'reward_model' has no 'ground_truth'"),
        (SOLVED | {"answer": "x"}, SOLVED | {"answer": "proof"}, r"line 2: column 'answer' is 'proof'"),
    ],
)
def test_a_row_that_differs_is_named_with_column_and_value(good: Row, bad: Row, message: str) -> None:
    rows = [good, bad, good]
    with pytest.raises(BadRowError, match=message) as error:
        read(rows)
    assert str(error.value).count("\n") == 0
    told: list[LearnableError] = []
    prompts = list(prompts_from_rows(place(rows), Columns(), "q", told.append, layout=find(rows)))
    assert (len(prompts), len(told)) == (2, 1)


def test_columns_alone_tell_a_layout_whose_answers_are_all_wrong() -> None:
    with pytest.raises(BadRowError, match=r"column 'answer' is 'E'.* looks like MMLU"):
        read([MMLU | {"answer": "E"}])


def test_later_rows_have_to_fit_the_layout_of_the_first() -> None:
    rows = [*[WORKED] * LOOKED_AT, MMLU]
    layout = recognise(place(rows)[:LOOKED_AT], Columns())
    with pytest.raises(BadRowError, match=f"line {LOOKED_AT + 1}: column 'answer' is 1"):
        list(prompts_from_rows(place(rows), Columns(), "q", layout=layout))


@pytest.mark.parametrize(
    ("text", "boxed"),
    [
        (r"\boxed{1} then \fbox{ 2 }", "2"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\text{a {b} c}}", r"\text{a {b} c}"),
        (r"$\boxed 7$", "7"),
        (r"\boxed{}", None),
        ("no box", None),
    ],
)
def test_the_last_box_with_its_braces(text: str, boxed: str | None) -> None:
    assert last_boxed(text) == boxed
