"""A stub continued, or answered in any other shape: each is judged by what it does, and silence does nothing."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from learnable.data.records import Score
from learnable.data.sources.test_code.program_rows import read_program_row
from learnable.verifiers.programs.extraction import extract_program
from learnable.verifiers.programs.sandbox.ladder import look_at_machine
from learnable.verifiers.programs.verifier import ProgramVerifier
from learnable.verifiers.protocol import SpecError
from tests.support.paths import PUBLIC_DATA

PUBLIC = PUBLIC_DATA / "programs"
pytestmark = pytest.mark.skipif(not look_at_machine().rungs, reason="programs cannot be confined on this machine")

STUB = '''import math
from typing import List


def shift(n: int) -> int:
    """Move one up."""
    return n + 1


def roots(numbers: List[int]) -> List[int]:
    """Return the whole roots of the numbers, each moved one up.

    >>> roots([4])
    [3]
    """
'''
BODY = "    found = []\n    for n in numbers:\n        found.append(shift(math.isqrt(n)))\n    return found\n"
FLAT = "found = []\nfor n in numbers:\n    found.append(shift(math.isqrt(n)))\nreturn found\n"
HEAD = "def roots(numbers: List[int]) -> List[int]:\n"
CASES = [[[[4, 9]], [3, 4]], [[[]], []]]
SPEC: dict[str, Any] = {"entry": "roots", "cases": CASES, "stub": STUB}
INNER = "    def one(n):\n        return shift(math.isqrt(n))\n    return [one(n) for n in numbers]\n"
LATER = (
    "    return [one(n) for n in numbers]\n\n"
    "def one(n):\n    return two(n)\n\ndef two(n):\n    return shift(math.isqrt(n))\n"
)

RIGHT = {
    "the body": BODY,
    "the body behind an empty line": "\n\n" + BODY,
    "the body without its first spaces": BODY.lstrip(),
    "a nested function without its first spaces": INNER.lstrip(),
    "the body without any indentation": FLAT,
    "the body with two spaces": BODY.replace("    ", "  "),
    "the body with tabs": BODY.replace("    ", "\t"),
    "the docstring again, then the body": '    """Return the whole\nroots.\n    """\n' + BODY,
    "one line": "    return [shift(math.isqrt(n)) for n in numbers]",
    "a nested function": INNER,
    "a fence with the body": f"Here it is:\n\n```python\n{BODY}```\nDone.",
    "a fence with the body without indentation": f"```\n{FLAT}```",
    "a fence with the function alone": f"Sure!\n```python\n{HEAD}{BODY}```\nIt moves each root.",
    "a fence with everything": f"```python\n{STUB}{BODY}```",
    "a fence that never closes": f"```python\n{HEAD}{BODY}",
    "the function alone": HEAD + BODY,
    "the function behind prose": f"Sure! This does it:\n\n{HEAD}{BODY}\nIt moves each root.",
    "the stub again": STUB + BODY,
    "a fence closed that the prompt opened": f"{BODY}```\nThis moves each root.",
    "the same, without the first spaces": f"{BODY.lstrip()}```\nThis moves each root.",
    "prose before the body": f"Here is the rest:\n\n{BODY}",
    "thinking before the body": f"<think>\n    return 7\n</think>\n{BODY}",
    "asserts behind it that do not hold": f"{BODY}\n\nassert roots([4]) == [7]\nprint(roots(no_such_name))\n",
    "a function cut short behind it": f"{BODY}\n\ndef more(x:\n",
    "a main part behind it": f"{BODY}\nif __name__ == '__main__':\n    main()\n",
    "a use of it behind the function": f"{HEAD}{BODY}\nassert roots([4]) == [7]\nimport no_such_module\ndef cut(",
    "prose behind it": f"{BODY}\nThis moves each root, as was asked.\n",
    "functions behind it that it uses": LATER,
    "another try behind it": f"{BODY}\n\n{HEAD}    return []\n",
    "a comment at the margin": BODY.replace("    return", "# at last\n    return"),
    "a future import": f"```python\nfrom __future__ import annotations\n{HEAD}{BODY}```",
}
WRONG = {
    "silence": "",
    "an empty line": "\n\n",
    "a docstring": '    """Nothing more."""\n',
    "a comment": "    # to be done\n",
    "pass": "    pass\n",
    "an ellipsis": "    ...",
    "a docstring and pass": "    'Nothing more.'\n    pass  # yet\n",
    "the stub again": STUB,
    "the stub again in a fence": f"```python\n{STUB}\n```",
    "the function with pass": f"{HEAD}    pass\n",
    "the function in one line with pass": f"{HEAD.rstrip()} pass\n",
    "an empty fence": "```python\n```",
    "prose": "I cannot do that, since return values are unknown to me.",
    "prose with an indented line": "Well:\n    I cannot do that.\n",
    "no Python": "    return (((\n",
}


def score(completion: str, *, prompt: str = "", **spec: Any) -> Score:
    return ProgramVerifier().score(completion, prompt=prompt, spec=SPEC | spec)


@pytest.mark.parametrize("completion", RIGHT.values(), ids=RIGHT)
def test_every_shape_of_a_right_answer_passes(completion: str) -> None:
    ProgramVerifier().check_spec(SPEC)
    assert score(completion).passed, score(completion)


@pytest.mark.parametrize("completion", [BODY, FLAT, HEAD + BODY, f"```\n{BODY}```"])
@pytest.mark.parametrize(
    "prompt", [STUB, f"Complete it.\n```python\n{STUB}```\nCode alone.", f"Go on with this.\n\n{STUB}\nThank you!"]
)
def test_the_stub_may_be_in_the_prompt_alone(prompt: str, completion: str) -> None:
    spec = {"entry": "roots", "cases": CASES}
    assert ProgramVerifier().score(completion, prompt=prompt, spec=spec).passed
    assert not ProgramVerifier().score(completion, prompt="Write roots.", spec=spec).passed


@pytest.mark.parametrize("completion", WRONG.values(), ids=WRONG)
def test_what_does_nothing_gets_nothing_even_where_none_is_right(completion: str) -> None:
    """The stub runs as it stands and gives None: no completion may be paid for that."""
    found = score(completion, cases=[[[[4]], None], [[[9]], None]])
    assert (found.verdict, found.reward, found.passed) == ("scored", 0.0, False)


def test_what_the_completion_defines_wins_over_the_stub() -> None:
    again = f"def shift(n):\n    return 0\n\n{HEAD}{BODY}"
    assert score(again, cases=[[[[4, 9]], [0, 0]]]).passed
    assert score(f"{BODY}\ndef shift(n):\n    return 0\n", cases=[[[[4, 9]], [0, 0]]]).passed


@pytest.mark.parametrize(
    "attack", ["import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n", "import sys\nraise SystemExit\n"]
)
def test_a_body_is_confined_as_a_program_is(attack: str) -> None:
    body = "".join(f"    {line}\n" for line in attack.splitlines())
    assert score(body).reward == 0.0
    assert score(f"{attack}\n{HEAD}{BODY}").reward == 0.0


def test_without_a_stub_all_is_as_it_was() -> None:
    plain = {"entry": "roots", "cases": CASES}
    verifier = ProgramVerifier()
    full = "import math\ndef roots(numbers):\n    return [math.isqrt(n) + 1 for n in numbers]\n"
    assert verifier.score(full, prompt="", spec=plain).passed
    assert not verifier.score(f"{full}assert roots([4]) == [7]\n", prompt="", spec=plain).passed
    assert verifier.score(BODY, prompt="", spec=plain).reward == 0.0


@pytest.mark.parametrize("stub", ["", 3, "def other(n):\n", "def roots(n):\n    return n\n", "def roots(n"])
def test_a_stub_must_be_one(stub: Any) -> None:
    with pytest.raises(SpecError, match="'stub' is"):
        ProgramVerifier().check_spec(SPEC | {"stub": stub})
    with pytest.raises(SpecError, match="no such key"):
        ProgramVerifier().check_spec({"stdin": [["", ""]], "stub": STUB})


def test_long_hostile_text_is_read() -> None:
    for text in (
        "    x = 1\n" * 20_000,
        "    '''\n" * 20_000,
        "def a():\n pass\n" * 15_000,
        "    return b0\n" + "".join(f"b{n} = b{n + 1}\n" for n in range(15_000)),
        "    return a\n" + "a" * 200_000,
        "    return a\n" + "a" + " " * 200_000 + "b",
        "[" + "]:" * 100_000,
        "def roots(" * 20_000,
    ):
        for completion in (text, f"```\n{text}```"):
            assert len(extract_program(completion, "roots", STUB)) <= len(STUB) + 5 * len(completion)


def lone_function(row: dict[str, Any]) -> str:
    source = row["prompt"] + row["canonical_solution"]
    return source[list(re.finditer(rf"^def {row['entry_point']}\b", source, re.MULTILINE))[-1].start() :]


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data is not here")
def test_the_reference_solutions_of_humaneval_pass_in_every_shape() -> None:
    failed = []
    for row in map(json.loads, gzip.decompress((PUBLIC / "HumanEval.jsonl.gz").read_bytes()).splitlines()):
        read = read_program_row(row, "prompt", None, None)
        assert read is not None
        body = row["canonical_solution"]
        shapes = [body, lone_function(row), f"It is this:\n```python\n{row['prompt']}{body}```\nDone.", body.strip()]
        shapes.append(f"{body}\n\nassert {row['entry_point']}() == 1\n\ndef cut(x")
        failed += [
            (row["task_id"], number)
            for number, shape in enumerate(shapes)
            if not ProgramVerifier().score(shape, prompt="", spec=read["spec"]).passed
        ]
        for nothing in ("", "    pass\n", row["prompt"]):
            assert ProgramVerifier().score(nothing, prompt="", spec=read["spec"]).reward == 0.0
    assert failed == []
