"""Columns of users' rows through the command line: chats, what goes along, and choices."""

from __future__ import annotations

import base64
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from learnable.data.records import Message, Score
from tests.cli.files_for_tests import Find, sums, write


class AnySpec:
    """A user's own judge, which looks at nothing."""

    name = "any"
    version = "1"

    def check_spec(self, spec: dict[str, Any]) -> None:
        pass

    def score(self, completion: str, *, prompt: str, spec: dict[str, Any]) -> Score:
        return Score(1.0, True)


class LevelJudge(AnySpec):
    """A user's own judge, which fails on rows without a level."""

    def check_spec(self, spec: dict[str, Any]) -> None:
        spec["level"] + 1


# 8. Text and chats.

CHAT = [{"role": "user", "content": "2 + 2 = "}]


def test_text_and_chats_in_one_file_are_refused(find: Find) -> None:
    found = find(write("q.jsonl", [*sums(2), {"prompt": CHAT, "answer": 4}]), "--verifier", "arithmetic")
    assert found.status == 2
    assert "q.jsonl, line 1 is text and q.jsonl, line 3 is a list of messages" in found.err
    assert "split the file" in found.err
    assert found.prompts == []


def test_messages_may_be_the_prompt_and_are_named_where_there_is_none(find: Find) -> None:
    path = write("q.jsonl", [{"messages": CHAT, "answer": 4}])
    found = find(path, "--verifier", "arithmetic")
    assert found.status == 2
    assert "--prompt-column messages" in found.err
    found = find(path, "--verifier", "arithmetic", "--prompt-column", "messages")
    assert found.prompts[0].prompt == (Message("user", "2 + 2 = "),)


def test_messages_that_end_with_the_answer_are_refused(find: Find) -> None:
    chat = [*CHAT, {"role": "assistant", "content": "4"}]
    found = find(write("q.jsonl", [{"prompt": chat, "answer": 4}]), "--verifier", "arithmetic")
    assert found.status == 2
    assert "ends with a turn of the assistant's, '4': drop that turn" in found.err


def test_worked_solutions_need_no_further_flag(find: Find) -> None:
    rows = [{"question": f"How many are {n} and 1,000?", "answer": f"It is <<{n}>>\n#### 1,00{n}"} for n in range(6)]
    found = find(write("q.jsonl", rows), "--prompt-column", "question", "--answer-column", "answer")
    assert found.status == 0, found.err
    assert [(prompt.verifier, prompt.spec) for prompt in found.prompts] == [
        ("number", {"answer": 1000 + n}) for n in range(6)
    ]
    assert "q.jsonl looks like GSM8K: the prompt is column 'question', the answer is the number behind" in found.err
    assert "judged by the verifier 'number'; --prompt-column, --answer-column and --verifier say otherwise" in found.err


# B. The other columns, and judges of one's own.

OWN = f"{__name__}:AnySpec"


def test_the_other_columns_go_along(find: Find) -> None:
    row = {
        "prompt": "2 + 2 = ",
        "answer": 4,
        "verifier": "arithmetic",
        "family": "sums",
        "form": "Addition",
        "difficulty": 2,
        "id": 17,
        "day": date(2024, 2, 29),
        "picture": b"\x00\xff",
        "rate": float("nan"),
        "meta": {"tags": ["a", None]},
    }
    pq.write_table(pa.Table.from_pylist([row]), "q.parquet")
    [prompt] = find("q.parquet").prompts
    assert (prompt.family, prompt.form, prompt.difficulty) == ("sums", "Addition", 2)
    assert prompt.columns == {
        "answer": 4,
        "id": 17,
        "day": "2024-02-29",
        "picture": base64.b64encode(b"\x00\xff").decode(),
        "rate": None,
        "meta": {"tags": ["a", None]},
    }


def test_the_other_columns_are_in_the_shards(find: Find) -> None:
    found = find(write("q.jsonl", sums(8, id="a-1", level=3, mean="a user's own")), "--verifier", "arithmetic")
    assert found.status == 0, found.err
    shards = [pq.read_table(path).to_pylist() for path in Path(found.report["curated"]).glob("*-00000-of-*.parquet")]
    rows = [row for rows in shards for row in rows if "decision" in row]  # demonstrations have prompt and completion
    assert len(rows) >= 8
    assert {(row["id"], row["level"], row["source_mean"]) for row in rows} == {("a-1", 3, "a user's own")}


def test_a_judge_of_ones_own_sees_the_row(find: Find) -> None:
    rows = [
        {"prompt": "a", "level": 3, "day": "2024-02-29"},
        {"prompt": "b", "spec": {"only": "this"}, "level": 3},
    ]
    found = find(write("q.jsonl", rows), "--verifier", OWN)
    assert found.status == 0, found.err
    assert found.specs == [{"level": 3, "day": "2024-02-29"}, {"only": "this"}]
    found = find(
        write("q.jsonl", [{"prompt": "a", "gold": {"value": 3}}]), "--verifier", OWN, "--answer-column", "gold.value"
    )
    assert found.specs == [{"gold": {"value": 3}, "answer": 3}]


def test_a_judge_of_ones_own_that_fails_on_a_row_names_it(find: Find) -> None:
    path = write("q.jsonl", [{"prompt": "a", "level": 3}, {"prompt": "b"}])
    found = find(path, "--verifier", f"{__name__}:LevelJudge")
    assert found.status == 2
    assert "q.jsonl, line 2: " in found.err
    assert "verifier 'any' refuses the spec" in found.err
    assert "KeyError: 'level'" in found.err


def test_tests_that_became_the_spec_do_not_go_along(find: Find) -> None:
    row = {
        "task_id": "H/0",
        "prompt": "def double(n):\n    '''Return n twice over.'''\n",
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    }
    [prompt] = find(write("q.jsonl", [row])).prompts
    assert prompt.columns == {name: row[name] for name in ("task_id", "entry_point", "canonical_solution")}


# C. Choices.

COLOURS = ["red", "blue"]


@pytest.mark.parametrize(
    ("row", "spec"),
    [
        ({"answer": "Blue", "choices": COLOURS}, {"answer": "Blue", "choices": COLOURS}),
        ({"answer": 1, "choices": COLOURS}, {"answer": "blue", "choices": COLOURS}),
        ({"answer": 1, "choices": ["0", "1"]}, {"answer": "1", "choices": ["0", "1"]}),
        ({"answer": "b", "choices": COLOURS}, {"answer": "B", "choices": ["A", "B"], "texts": COLOURS}),
        (
            {"answer": "B", "choices": [{"label": "A", "text": "red"}, {"label": "B", "text": "blue"}]},
            {"answer": "B", "choices": ["A", "B"], "texts": COLOURS},
        ),
        (
            {"answer": "2", "choices": {"label": ["1", "2"], "text": COLOURS}},
            {"answer": "2", "choices": ["1", "2"], "texts": COLOURS},
        ),
        ({"answer": "blue", "choices": {"label": [], "text": COLOURS}}, {"answer": "blue", "choices": COLOURS}),
        ({"answer": "blue", "choices": "['red', 'blue']"}, {"answer": "blue", "choices": COLOURS}),
        ({"answer": 0}, {"answer": "0"}),
        ({"answer": True, "choices": None}, {"answer": "true"}),
        ({"spec": {"answer": "red", "choices": COLOURS}}, {"answer": "red", "choices": COLOURS}),
    ],
)
def test_choices_are_read(find: Find, row: dict[str, Any], spec: dict[str, Any]) -> None:
    found = find(write("q.jsonl", [{"prompt": "Which?", **row}]), "--verifier", "choice")
    assert found.status == 0, found.err
    assert found.specs == [spec]


def test_choices_in_a_table_of_text(find: Find) -> None:
    Path("q.csv").write_text('prompt,answer,choices\nWhich?,1,"[""red"", ""blue""]"\n')
    assert find("q.csv", "--verifier", "choice").specs == [{"answer": "blue", "choices": COLOURS}]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"answer": "green", "choices": COLOURS}, "'answer' is 'green': give one of the choices ['red', 'blue']"),
        ({"answer": 2, "choices": COLOURS}, "'answer' is '2': give one of the choices"),
        ({"answer": "red", "choices": "red"}, "column 'choices' is 'red': give a list of texts"),
        ({"answer": "red", "choices": [["red"]]}, "column 'choices' is"),
    ],
)
def test_choices_that_cannot_be_are_named(find: Find, row: dict[str, Any], says: str) -> None:
    found = find(write("q.jsonl", [{"prompt": "Which?", **row}]), "--verifier", "choice")
    assert found.status == 2
    assert says in found.err


def test_places_as_answers_are_said_once(find: Find) -> None:
    rows = [{"prompt": f"Which {n}?", "answer": n % 2, "choices": COLOURS} for n in range(4)]
    found = find(write("q.jsonl", rows), "--verifier", "choice")
    assert found.err.count("whole numbers as answers are read as places in 'choices', from 0 on") == 1


@pytest.mark.parametrize("name", ["q.jsonl", "q.parquet", "q"])
def test_the_answers_of_the_whole_file_are_the_choices(find: Find, name: str) -> None:
    moods = ["neutral", "positive", "negative"]
    rows = [{"prompt": f"Mood {n:02}?", "label": moods[n // 20]} for n in range(60)]
    if name == "q.parquet":
        pq.write_table(pa.Table.from_pylist(rows), name)
    else:
        write(name if name == "q.jsonl" else "q/train.jsonl", rows)
    found = find(name, "--verifier", "choice", "--answer-column", "label", "--limit", 5)
    assert [spec["choices"] for spec in found.specs] == [["negative", "neutral", "positive"]] * 5
    assert [spec["answer"] for spec in found.specs] == [moods[int(p.text[5:7]) // 20] for p in found.prompts]
    assert found.err.count("choices taken from the file's answers: negative, neutral, positive") == 1


@pytest.mark.parametrize("answer", ["answer {n}", "a" * 41 + "{n}"])
def test_answers_of_all_kinds_are_no_choices(find: Find, answer: str) -> None:
    rows = [{"prompt": f"What {n:02}?", "answer": answer.format(n=n)} for n in range(30)]
    found = find(write("q.jsonl", rows), "--verifier", "choice")
    assert found.specs[3] == {"answer": answer.format(n=3)}
    assert found.err.count("the answers are not a closed set") == 1


# 14. Prompts of several columns.


def test_a_template_joins_columns(find: Find) -> None:
    path = write("q.jsonl", [{"setting": "2 + ", "asked": f"{n} = ", "answer": n + 2} for n in (2, 3)])
    found = find(path, "--verifier", "arithmetic", "--prompt-template", r"{setting}{asked}\nin digits")
    assert sorted(str(prompt.prompt) for prompt in found.prompts) == ["2 + 2 = \nin digits", "2 + 3 = \nin digits"]


def test_a_template_stands_in_place_of_a_column(find: Find) -> None:
    found = find(
        write("q.jsonl", sums(2)), "--verifier", "arithmetic", "--prompt-template", "{prompt}", "--prompt-column", "q"
    )
    assert found.status == 2
    assert "leave out --prompt-column" in found.err
