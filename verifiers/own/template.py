"""A judge to begin with: a reward function, completions judged by hand, and the test that holds it to them."""

from __future__ import annotations

import keyword
from pathlib import Path

from learnable.data.errors import LearnableError

JUDGE = '''"""Judges answers: one reward for each completion, as TRL's trainers call a reward function.

    pytest test_NAME.py
    find-learnable --prompts questions.jsonl --verifier NAME.py:score
"""

import re


def score(completions, answer, **columns):
    """Return 1.0 where the last number is the answer, 0.5 where the answer stands elsewhere, and else 0.0.

    `completions` and every column of your rows, such as `answer`, are lists with an item for each completion; a
    function that needs `prompts` may take them too. None says that nothing honest can be said of a completion.
    """
    return [judge_text(read_text(completion), str(right)) for completion, right in zip(completions, answer)]


score.reward_range = (0.0, 1.0)  # where rewards lie: another one is an error, and is not cut off
score.passes_at = 1.0  # from here on a completion has passed
score.time_limit = 10.0  # seconds


def judge_text(text, right):
    numbers = re.findall(r"-?\\d+", text)
    if numbers and numbers[-1] == right:
        return 1.0
    return 0.5 if right in numbers else 0.0


def read_text(completion):
    """Return the text of a completion: a string, or where the prompt is a chat a list of messages."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
'''
GOLDEN = """\
{"prompt": "What is 17 + 25?", "answer": 42, "completion": "17 + 25 = 42", "reward": 1.0}
{"prompt": "What is 17 + 25?", "answer": 42, "completion": "It is 42, which is 2 more than 40.", "reward": 0.5}
{"prompt": "What is 17 + 25?", "answer": 42, "completion": "It is 32.", "reward": 0.0}
{"prompt": "What is 17 + 25?", "answer": 42, "completion": "I do not know.", "reward": 0.0}
{"prompt": "What is 17 + 25?", "answer": 42, "completion": "", "reward": 0.0}
"""
TEST = '''"""Holds NAME.py to the completions of NAME_golden.jsonl, judged by hand: add each that was judged wrong."""

import json
from pathlib import Path

import pytest

from learnable import trust_verifier

HERE = Path(__file__).parent
ROWS = [json.loads(line) for line in (HERE / "NAME_golden.jsonl").read_text(encoding="utf-8").splitlines()]
NOT_COLUMNS = ("prompt", "completion", "reward")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["completion"][:30] or "empty")
def test_reward(row):
    columns = {name: value for name, value in row.items() if name not in NOT_COLUMNS}
    judge = trust_verifier(f"{HERE / 'NAME.py'}:score")
    judge.check_spec(columns)
    found = judge.score(row["completion"], prompt=row["prompt"], spec=columns)
    assert found.reward == row["reward"], found.reason
'''


def write_verifier(name: str, folder: Path) -> tuple[Path, Path, Path]:
    """Write `NAME.py`, `NAME_golden.jsonl` and `test_NAME.py`, and return where they are.

    Raises `LearnableError` for a name that no module can have, and where one of the files is there: none is written.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise LearnableError(f"{name!r} cannot name a Python file: use letters, digits and '_', as in my_judge")
    texts = {f"{name}.py": JUDGE, f"{name}_golden.jsonl": GOLDEN, f"test_{name}.py": TEST}
    paths = tuple(folder / file for file in texts)
    if taken := [path for path in paths if path.exists()]:
        raise LearnableError(f"{str(taken[0])!r} is there already, and is not overwritten: choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            with path.open("x", encoding="utf-8") as file:
                file.write(text.replace("NAME", name))
    except OSError as error:
        raise LearnableError(f"{str(folder)!r} cannot be written: {error.strerror}: choose another folder") from error
    judge, golden, test = paths
    return judge, golden, test
