"""Wherever a completion has its program, that and nothing else is run."""

from __future__ import annotations

import pytest

from learnable.verifiers.programs.extraction import extract_program

PROGRAM = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"

SHAPES = {
    "marks of MBPP": f"[BEGIN]\n{PROGRAM}[DONE]\n",
    "marks of MBPP that the prompt opened": f"{PROGRAM}[DONE]\nThe next one:\n[BEGIN]\ndef sub(a):\n    pass\n[DONE]",
    "marks of MBPP that never close": f"[BEGIN]\n{PROGRAM}",
    "the last of several marked ones": f"[BEGIN]\n{WRONG}[DONE]\nBetter:\n[BEGIN]\n{PROGRAM}[DONE]\n",
    "marks of a prompt for code models": f"[PYTHON]\n{PROGRAM}[/PYTHON]\n",
    "a tag": f"<answer>\n{PROGRAM}</answer> I hope so.",
    "a tag on one line": "<code>def add(a, b): return a + b</code>",
    "tildes": f"Here it is:\n~~~python\n{PROGRAM}~~~\nIt adds.",
    "tildes that never close": f"Here it is:\n~~~\n{PROGRAM}",
    "four backticks": f"````python\n{PROGRAM}````\nIt adds.",
    "a fence in a fence": f"~~~\n```python\n{PROGRAM}```\n~~~\n",
    "prose before and behind": f"To add we sum.\n\n{PROGRAM}\nThis adds them, and result = a + b.",
    "prose that begins like code": f"result = all of it\nfrom there on\nclass of its own\n{PROGRAM}for example so",
    "an example in prose": f"x = 3 is an example.\n\n{PROGRAM}\nadd(1, 2) gives 3.",
    "a list behind": f"The function:\n\n{PROGRAM}\n1. First, it takes two.\n- It adds them",
    "a heading behind": f"{PROGRAM}\n**Explanation**\n* so it is",
    "one word behind": f"{PROGRAM}\nExplanation\n",
    "a question behind": f"{PROGRAM}\nfoo(bar)?",
    "prose in other signs": f"\u51fd\u6570\uff1a\n\n{PROGRAM}\n\u4e24\u4e2a\u6570\u76f8\u52a0\u3002",
    "indented between prose": "Solution:\n\n    def add(a, b):\n        return a + b\n\nThis works.",
    "a helper first": "First one to help:\n\ndef plus(a, b):\n    return a + b\n\nThen it:\n\nadd = plus\n",
    "an annotated constant": "NOTHING: int = 0\n\ndef add(a, b):\n    return a + b + NOTHING\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_program_is_found(shape: str) -> None:
    names: dict[str, object] = {}
    exec(extract_program(SHAPES[shape], "add"), names)
    add = names["add"]
    assert callable(add)
    assert add(2, 1) == 3


@pytest.mark.parametrize(
    "text", ["I import nothing from you.", "x = y is true.\nclass dismissed!", "[BEGIN]\nno\n[DONE]"]
)
def test_prose_is_no_program(text: str) -> None:
    assert extract_program(text, "add") == ""
