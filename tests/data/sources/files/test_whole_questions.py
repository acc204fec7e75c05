"""Nothing of a question is lost: columns are joined, and what is left out is told with the flag that takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts

Rows = list[dict[str, Any]]


class Heard(Silence):
    """Remembers notes and warnings."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def read(folder: Path, rows: Rows, **columns: Any) -> tuple[list[Prompt], Heard]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    heard = Heard()
    with watched_by(heard):
        return list(file_prompts(str(path), Columns(**columns))), heard


SVAMP = [
    {
        "ID": "q-1",
        "Body": "A hen lays 4 eggs.",
        "Question": "How many do 3 lay?",
        "Equation": "( 4 * 3 )",
        "Answer": 12.0,
    },
    {"ID": "q-2", "Body": "Ann has 9 pens.", "Question": "And with 2 more?", "Equation": "( 9 + 2 )", "Answer": 11.0},
]
OPTIONS = ["A)two", "B)three", "C)four"]
WELL_KNOWN: dict[str, tuple[Mapping[str, Any], str, str, Any]] = {
    "SVAMP": (SVAMP[0], "A hen lays 4 eggs. How many do 3 lay?", "number", 12),
    "ASDiv": (
        {"body": "A hen lays 4 eggs.", "question": "And 3?", "formula": "4*3=12", "answer": "12 (eggs)"},
        "A hen lays 4 eggs. And 3?",
        "number",
        12,
    ),
    "ASDiv in words": (
        {"body": "Two hens race.", "question": "Who wins?", "formula": "", "answer": "Berta"},
        "Two hens race. Who wins?",
        "text",
        "Berta",
    ),
    "AQuA": (
        {"question": "1 + 2?", "options": OPTIONS, "rationale": "So 3.", "correct": "B"},
        "1 + 2?\n\nA)two\nB)three\nC)four\n\nAnswer with A, B or C.",
        "choice",
        "B",
    ),
    "SAT": (
        {"id": "1", "question": "1 + 2?", "options": "A) two B) three C) all of set A", "Answer": "B"},
        "1 + 2?\n\nA) two\nB) three\nC) all of set A\n\nAnswer with A, B or C.",
        "choice",
        "B",
    ),
    "AGIEval": (
        {"passage": "Numbers.", "question": "1 + 2?", "options": {"A": "2", "B": "3"}, "label": "B", "answer": None},
        "Numbers.\n\n1 + 2?\n\nA. 2\nB. 3\n\nAnswer with A or B.",
        "choice",
        "B",
    ),
    "MathQA": (
        {"Problem": "1 + 2?", "options": "a ) 2 , b ) 3 , c ) none of these", "correct": "b"},
        "1 + 2?\n\na ) 2\nb ) 3\nc ) none of these\n\nAnswer with A, B or C.",
        "choice",
        "B",
    ),
    "RACE": (
        {"article": "A story.", "question": "Who?", "options": ["Ann", "Bob"], "answer": "B"},
        "A story.\n\nWho?\n\nA. Ann\nB. Bob\n\nAnswer with A or B.",
        "choice",
        "B",
    ),
    "TabMWP": (
        {
            "table_title": "Pens",
            "table": "red | 3",
            "question": "How many?",
            "choices": None,
            "answer": "3",
            "grade": 2,
        },
        "Pens\nred | 3\n\nHow many?",
        "number",
        3,
    ),
    "MAWPS": ({"input": "What is 1 and 2?", "target": 3.0}, "What is 1 and 2?", "number", 3),
    "OlympiadBench": (
        {"context": "Let x be 2.", "question": "x + x?", "final_answer": ["$4$"], "subfield": "a", "answer_type": "b"},
        "Let x be 2.\n\nx + x?",
        "mathematics",
        "4",
    ),
    "SQuAD": (
        {"context": "Ann is in Rome.", "question": "Where?", "answers": {"text": ["Rome", "in Rome"]}},
        "Ann is in Rome.\n\nWhere?",
        "text",
        ["Rome", "in Rome"],
    ),
}


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_well_known_sets_give_whole_questions(name: str, tmp_path: Path) -> None:
    row, text, verifier, answer = WELL_KNOWN[name]
    [prompt], heard = read(tmp_path, [dict(row)])
    assert (prompt.prompt, prompt.verifier, prompt.spec["answer"]) == (text, verifier, answer)
    assert "rows.jsonl looks like" in heard.notes[0]
    assert heard.warnings == []


def test_what_a_question_has_in_it_is_not_repeated(tmp_path: Path) -> None:
    row = SVAMP[0] | {"Question": "A hen  lays 4 eggs. How many do 3 lay?", "numbers": "[4, 3, 12, 7, 15, 1]"}
    [prompt], heard = read(tmp_path, [row])
    assert prompt.prompt == row["Question"]
    assert heard.warnings == []


def test_the_columns_of_a_known_set_are_said(tmp_path: Path) -> None:
    _, heard = read(tmp_path, SVAMP)
    assert "the prompt is columns 'Body' and 'Question'" in heard.notes[0]


ALPACA = [
    {"instruction": "Say it in French.", "input": "A dog is here.", "output": "Un chien est ici."},
    {"instruction": "Say hello in French.", "input": "", "output": "Bonjour."},
]


def test_alpaca_asks_with_its_input_whoever_judges(tmp_path: Path) -> None:
    prompts, heard = read(tmp_path, ALPACA, answer="output", verifier="text")
    assert [prompt.prompt for prompt in prompts] == ["Say it in French.\n\nA dog is here.", "Say hello in French."]
    assert "looks like Alpaca: the prompt is columns 'instruction' and 'input'" in heard.notes[0]


@pytest.mark.parametrize(
    ("rows", "columns", "told", "flag"),
    [
        (SVAMP, {"prompt": "Question", "answer": "Answer", "verifier": "number"}, "'Body'", '"{Body} {Question}"'),
        (
            ALPACA,
            {"prompt": "instruction", "answer": "output", "verifier": "text"},
            "'input'",
            r'"{instruction}\n{input}"',
        ),
        (
            [{"question": "1 + 2?", "options": OPTIONS, "correct": "B", "rationale": "It is 3, for 1 and 2 are 3."}],
            {"prompt": "question", "answer": "correct", "verifier": "choice"},
            "'options'",
            r'"{question}\n{options}"',
        ),
        (
            [{"q": "Who is it?", "A": "Ann", "B": "Bob", "right": "A"}],
            {"prompt": "q", "answer": "right", "verifier": "choice"},
            "'A' and 'B'",
            r'"{q}\nA. {A}\nB. {B}"',
        ),
        (
            [{"q": "Why?", "clue in words": f"It rained for {n} days.", "right": "x"} for n in range(3)],
            {"prompt": "q", "answer": "right", "verifier": "text"},
            "'clue in words'",
            r'"{clue in words}\n{q}"',
        ),
    ],
)
def test_a_column_that_no_prompt_shows_is_told(
    rows: Rows, columns: dict[str, Any], told: str, flag: str, tmp_path: Path
) -> None:
    _, heard = read(tmp_path, rows, **columns)
    warning = next(text for text in heard.warnings if "no prompt shows" in text)
    assert told in warning
    assert f"`prompt_template` {flag}" in warning


def test_labels_solutions_and_copies_are_not_told(tmp_path: Path) -> None:
    rows = [
        {
            "prompt": f"What is {n} and 2, my dear?",
            "question": f"What is {n} and 2, my dear?",
            "answer": n + 2,
            "solution": f"We add 2 to {n}, which is {n + 2}.",
            "subject": "sums of small numbers",
            "problemId": f"set one number {n}",
            "source_url": f"a page of numbers {n}",
            "system": "You are a careful helper.",
            "kind": "sum" if n % 2 else "add",
            "tags": ["sum", "small"],
        }
        for n in range(5)
    ]
    _, heard = read(tmp_path, rows, verifier="number")
    assert heard.warnings == []


def test_a_template_joins_columns(tmp_path: Path) -> None:
    template = "{Body} {Question}\n\n{{in digits}}"
    prompts, _ = read(tmp_path, SVAMP, template=template, answer="Answer", verifier="number")
    assert prompts[1].prompt == "Ann has 9 pens. And with 2 more?\n\n{in digits}"
    assert prompts[1].columns["Body"] == "Ann has 9 pens."


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        (["two", "three"], "A. two\nB. three"),
        (["A) two", "B) three"], "A) two\nB) three"),
        ({"A": "two", "B": "three", "C": None}, "A. two\nB. three"),
        ({"B": "three", "A": "two"}, "A. two\nB. three"),
        ('["two", "three"]', "A. two\nB. three"),
        ({"label": ["A", "B"], "text": ["two", "three"]}, "A. two\nB. three"),
        ([{"key": "A", "value": "two"}, {"key": "B", "value": "three"}], "A. two\nB. three"),
        ("A) two B) three", "A) two B) three"),
        ([2, 3.5], "A. 2\nB. 3.5"),
    ],
)
def test_lists_in_a_template_are_lettered(options: Any, listed: str, tmp_path: Path) -> None:
    rows = [{"q": "1 + 2?", "o": options, "a": "B"}]
    [prompt], _ = read(tmp_path, rows, template="{q}\n{o}", answer="a", verifier="choice")
    assert prompt.prompt == f"1 + 2?\n{listed}"
    assert (prompt.spec["answer"], prompt.spec["choices"]) == ("B", ["A", "B"])


def test_lines_without_anything_are_left_out(tmp_path: Path) -> None:
    rows = [{"hint": hint, "q": "1 + 2?", "answer": 3} for hint in ("Count.", "", None)]
    prompts, _ = read(tmp_path, rows, template="Hint: {hint}\n\n{q}", verifier="number")
    assert [prompt.prompt for prompt in prompts] == ["Hint: Count.\n\n1 + 2?", "1 + 2?", "1 + 2?"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("no name", "names no column"),
        ("{q", "expected '}'"),
        ("{}", "no column"),
        ("{q!r}", "no column"),
        ("{q} {absent}", r"no column 'absent'.*`prompt_template`"),
        ("{chat}", "a chat is named with `prompt_column`"),
    ],
)
def test_what_is_no_template_is_refused(template: str, message: str, tmp_path: Path) -> None:
    rows = [{"q": "1 + 2?", "chat": [{"role": "user", "content": "1 + 2?"}], "answer": 3}]
    with pytest.raises(LearnableError, match=message):
        read(tmp_path, rows, template=template, verifier="number")


@pytest.mark.parametrize(
    ("row", "flags"),
    [
        ({"question": "1 + 2?", "answer": "3"}, "`prompt_column` question `answer_column` answer `verifier` number"),
        (
            {"content": "x + x?", "answer": r"\frac{x}{2}"},
            "`prompt_column` content `answer_column` answer `verifier` mathematics",
        ),
        (
            {"query": "Who?", "candidates": ["(A) Ann", "(B) Bob"], "gold": "A"},
            r'`prompt_template` "{query}\n{candidates}" `answer_column` gold `verifier` choice',
        ),
        (
            {"story": "Ann is in Rome.", "question": "Where?", "answer": "Rome"},
            r'`prompt_template` "{story}\n{question}" `answer_column` answer `verifier` text',
        ),
        ({"instruction": "Sing to me."}, "`prompt_column` instruction `verifier` FILE.py:OBJECT"),
    ],
)
def test_no_verifier_comes_with_advice_on_columns(row: dict[str, Any], flags: str, tmp_path: Path) -> None:
    with pytest.raises(LearnableError) as caught:
        read(tmp_path, [row])
    assert "no verifier" in str(caught.value)
    assert f"as in {flags}" in str(caught.value)


def test_one_question_with_two_answers_is_told(tmp_path: Path) -> None:
    questions = ["What is 1 and 2?", "what is  1 and 2?", "What is 2 and 2?", "What is 2 and 2?"]
    rows = [{"prompt": text, "answer": answer} for text, answer in zip(questions, (3, 4, 4, "4"), strict=True)]
    _, heard = read(tmp_path, rows, verifier="number")
    [warning] = heard.warnings
    assert "1 question of rows.jsonl with different answers" in warning
    assert "line 1 (3)" in warning
    assert "line 2 (4)" in warning


@pytest.mark.parametrize(
    "text",
    [
        "<|im_start|>user\n1 + 2?<|im_end|>",
        "<|user|>\n1 + 2?",
        "[INST] 1 + 2? [/INST]",
        "<start_of_turn>user\n1 + 2?",
        "Human: 1 + 2?\n\nAssistant:",
        "<|start_header_id|>user<|end_header_id|> 1 + 2?",
        "<\uff5cUser\uff5c>1 + 2?",
        "### Instruction:\n1 + 2?\n### Response:",
    ],
)
@pytest.mark.parametrize("is_chat", [False, True])
def test_marks_of_a_chat_inside_a_turn_are_told(text: str, is_chat: bool, tmp_path: Path) -> None:
    prompt = [{"role": "user", "content": text}] if is_chat else text
    _, heard = read(tmp_path, [{"prompt": prompt, "answer": 3}], verifier="number")
    assert "marks of a chat template" in heard.warnings[0]
    assert "rows.jsonl, line 1" in heard.warnings[0]


@pytest.mark.parametrize("text", ["Is 1 < 2 | 3 > 2?", "Assistant: is this a word?", "What does a[INSTALL] mean?"])
def test_other_signs_are_no_marks(text: str, tmp_path: Path) -> None:
    _, heard = read(tmp_path, [{"prompt": text, "answer": 3}], verifier="number")
    assert heard.warnings == []


@pytest.mark.parametrize(
    ("difficulty", "number"),
    [("easy", 1.0), ("Hard", 3.0), (["medium"], 2.0), ("Level 5", 5.0), (4, 4.0), ("fun", None)],
)
def test_difficulty_in_words(difficulty: Any, number: float | None, tmp_path: Path) -> None:
    [prompt], _ = read(tmp_path, [{"prompt": "1 + 2?", "answer": 3, "difficulty": difficulty}], verifier="number")
    assert prompt.difficulty == number
    assert prompt.columns.get("difficulty") == ("fun" if number is None else None)


@pytest.mark.parametrize("dataset", ["gsm8k", ["gsm8k"], '["gsm8k"]', ["MATH"]])
def test_a_list_of_one_is_that_one(dataset: Any, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "1 + 2?"}], "ground_truth": ["3"], "dataset": dataset}
    [prompt], _ = read(tmp_path, [row])
    assert (prompt.verifier, prompt.spec["answer"]) == ("number", 3)
