"""Reward functions as TRL's documentation writes them are called as TRL calls them, and what fails is no zero."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from learnable.data.errors import shorten_reason
from learnable.data.records import Message, Prompt, Rollout, Score
from learnable.verifiers.own.loading import JudgeError
from learnable.verifiers.own.reward_function import CountedTokens, RewardFunction
from learnable.verifiers.pool.jobs import ScoreJob, score_jobs, split_jobs
from learnable.verifiers.protocol import SpecError
from learnable.verifiers.registry import trust_verifier

CHAT = '[{"content":"Be brief.","role":"system"},{"content":"What is 1 + 1?","role":"user"}]'
Write = Callable[[str], str]
_files = count()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file with a reward function `score`, and return the function's name."""

    def write(source: str) -> str:
        path = tmp_path / f"rewards_{next(_files)}.py"  # a process imports a file once
        path.write_text(source)
        return f"{path}:score"

    return write


def jobs(name: str, *completions: str, chat: str = "", spec: str = "{}", tokens: int | None = None) -> list[ScoreJob]:
    trust_verifier(name)
    return [ScoreJob(name, text, "What is 1 + 1?", spec, "stop", chat, tokens) for text in completions]


def rewards(name: str, *completions: str, chat: str = "", spec: str = "{}") -> list[float | None]:
    return [score.reward for score in score_jobs(jobs(name, *completions, chat=chat, spec=spec))]


def test_the_call_is_trls(write: Write) -> None:
    name = write(
        "calls = []\n"
        "def score(prompts, completions, completion_ids, answer, **columns):\n"
        "    calls.append((prompts, completions, [len(ids) for ids in completion_ids], answer, sorted(columns)))\n"
        "    return [0.5] * len(completions)\n"
    )
    spec = json.dumps({"answer": 2, "level": "easy", "prompt": "no column", "completion": "nor this"})
    assert [len(part) for part in split_jobs(jobs(name, "2", "3", spec=spec, tokens=4))] == [2]
    score_jobs(jobs(name, "2", "3", spec=spec, tokens=4))
    score_jobs(jobs(name, "2", chat=CHAT, spec=spec, tokens=4))
    judge = trust_verifier(name)
    assert isinstance(judge, RewardFunction)
    text, chat = judge.call.__globals__["calls"]  # type: ignore[attr-defined]
    columns = ["level", "log_extra", "log_metric"]
    assert text == (["What is 1 + 1?"] * 2, ["2", "3"], [4, 4], [2, 2], columns)
    assert chat == ([json.loads(CHAT)], [[{"role": "assistant", "content": "2"}]], [4], [2], columns)


def test_jobs_of_different_prompts_are_different_calls(write: Write) -> None:
    name = write("def score(completions):\n    return [1 / len(completions)] * len(completions)\n")
    mixed = [*jobs(name, "a", "b"), *jobs(name, "c", chat=CHAT), *jobs("number", "1", "2", spec='{"answer":1}')]
    assert [len(part) for part in split_jobs(mixed)] == [2, 1, 1, 1]
    assert [len(part) for part in split_jobs(mixed, singly=True)] == [1] * 5
    assert [score.reward for part in split_jobs(mixed) for score in score_jobs(part)] == [0.5, 0.5, 1.0, 1.0, 0.0]


def test_a_job_has_the_turns_of_a_chat_and_the_number_of_tokens() -> None:
    turns = (Message("system", "Be brief."), Message("user", "What is 1 + 1?"))
    rollout = Rollout("q", "p@w", "s", 16, 0, "2", "stop", 3)
    job = ScoreJob.of(Prompt(turns, "my.py:score", {}, "f", "f"), rollout)
    assert (job.messages_json, job.prompt, job.num_tokens) == (CHAT, "What is 1 + 1?", 3)
    assert ScoreJob.of(Prompt(turns, "number", {"answer": 2}, "f", "f"), rollout).messages_json == ""
    assert ScoreJob.of(Prompt("1 + 1", "my.py:score", {}, "f", "f"), rollout).messages_json == ""


@pytest.mark.parametrize(
    "body",
    [
        "def score(completions, **columns):\n    return [float(c == 'a') for c in completions]",
        "def score(completions, *, log_extra, log_metric):\n    log_extra('seen', completions); log_metric('n', 1)\n"
        "    return (c == 'a' for c in completions)",
        "import numpy as np\ndef score(prompts, completions):\n    return np.array([c == 'a' for c in completions])",
        "import asyncio\nasync def score(completions, **columns):\n    await asyncio.sleep(0)\n"
        "    return [int(c == 'a') for c in completions]",
        "class Judge:\n    def __call__(self, completions, trainer_state=None):\n"
        "        return [c == 'a' for c in completions]\nscore = Judge()",
        "class score:\n    def score(self, completions):\n        return [c == 'a' for c in completions]",
        "import functools\ndef plain(word, completions, **_):\n    return [c == word for c in completions]\n"
        "score = functools.partial(plain, 'a')",
    ],
)
def test_all_kinds_of_reward_functions(write: Write, body: str) -> None:
    assert rewards(write(body), "a", "b") == [1.0, 0.0]


def test_an_async_function_keeps_its_event_loop(write: Write) -> None:
    name = write(
        "import asyncio\nloops = []\nasync def score(completions):\n    loops.append(asyncio.get_running_loop())\n"
        "    return [float(loops[0] is loops[-1] and not loops[0].is_closed())] * len(completions)\n"
    )
    assert rewards(name, "a") + rewards(name, "b", "c") == [1.0, 1.0, 1.0]


FAULTS = {
    "return [float('nan'), 0.5]": ["reward nan is outside [0, 1]", ""],
    "return [0.5, float('inf')]": ["", "reward inf is outside [0, 1]"],
    "return [0.5, 1.5]": ["", "reward 1.5 is outside [0, 1]: `verifier_range` LOW..HIGH says where rewards lie"],
    "return [None, 0.5]": ["the judge returned None", ""],
    "return [0.5]": ["the reward function returned 1 rewards for 2 completions"] * 2,
    "return [0.5] * 3": ["the reward function returned 3 rewards for 2 completions"] * 2,
    "return 0.5": ["TypeError: the reward function returned 0.5: return a list"] * 2,
    "return 'no'": ["TypeError: the reward function returned 'no': return a list"] * 2,
    "return None": ["TypeError: the reward function returned None: return a list"] * 2,
    "return ['a' if c == 'x' else 1 for c in completions]": ["TypeError: the judge returned 'a' (str)", ""],
    "raise RuntimeError('out of ink')": ["RuntimeError: out of ink (rewards_"] * 2,
    "return [1 / (c != 'x') for c in completions]": ["ZeroDivisionError: ", ""],
    "import sys; sys.exit(0)": ["RuntimeError: the reward function raised SystemExit(0)"] * 2,
    "raise asyncio.CancelledError": ["RuntimeError: the reward function raised CancelledError()"] * 2,
    "return [len(i) for i in completion_ids]": ["how many tokens this completion has is not known here"] * 2,
}


@pytest.mark.parametrize("body", FAULTS)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_fails_is_no_zero_and_costs_its_own_completion(write: Write, body: str, kind: str) -> None:
    name = write(f"import asyncio\n{kind} score(completions, completion_ids):\n    {body}\n")
    found = score_jobs(jobs(name, "x", "y"))
    for score, reason in zip(found, FAULTS[body], strict=True):
        assert reason in score.reason
        assert (score.verdict == "scored") == (not reason)
        assert (score.reward is None) == bool(reason)


def test_a_function_for_chats_says_why_it_fails_on_text(write: Write) -> None:
    name = write("def score(completions, **_):\n    return [float(c[0]['content'] == 'a') for c in completions]\n")
    assert rewards(name, "a", "b", chat=CHAT) == [1.0, 0.0]
    (score,) = score_jobs(jobs(name, "a"))
    assert "the prompt is text: `mode` on makes messages of it" in shorten_reason(score.reason)  # as reports have it


def test_a_truncated_completion_stays_so(write: Write) -> None:
    name = write("def score(completions):\n    return [1.0 for _ in completions]\n")
    trust_verifier(name)
    cut = [ScoreJob(name, text, "", "{}", "length") for text in "ab"]
    assert [score.verdict for score in score_jobs(cut)] == ["truncated", "truncated"]


def test_the_range_is_stated_by_name_or_in_the_file(write: Write) -> None:
    name = write("def score(completions):\n    return [float(c) for c in completions]\n")
    mapped = score_jobs(jobs(f"{name}?range=-1..3&pass=1", "-1", "1", "3", "4"))
    assert mapped[:3] == [
        Score(0.0, False, reason="raw -1.0"),
        Score(0.5, True, reason="raw 1.0"),
        Score(1.0, True, reason="raw 3.0"),
    ]
    assert (mapped[3].verdict, mapped[3].reward) == ("verifier_error", None)
    assert "reward 4.0 is outside [-1, 3]" in mapped[3].reason
    stated = write(
        "def score(completions):\n    return [float(c) for c in completions]\n"
        "score.reward_range, score.passes_at = (-1, 3), 1\n"
    )
    assert score_jobs(jobs(stated, "-1", "1", "3", "4")) == mapped
    assert rewards(f"{stated}?range=0..4", "-1", "1") == [None, 0.25]


def test_who_judges_and_how_is_in_the_version(write: Write) -> None:
    source = "def score(completions):\n    return [0.0 for _ in completions]\n"
    names = [write(source), write(source), write(source + "\n"), write(source + "score.reward_range = (0, 2)\n")]
    one, same, edited, wider = (trust_verifier(name).version for name in names)
    assert one == same
    assert len({one, edited, wider, trust_verifier(f"{names[0]}?range=0..2").version}) == 4
    declared = write(source + "score.version = '1'\n")
    assert trust_verifier(declared).version == "1"
    assert trust_verifier(f"{declared}?pass=0.5").version == "1-range0..1-pass0.5"


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("def score(completions, trainer_state): ...", "", "needs trainer_state, and there is no trainer"),
        ("def score(completions): ...", "?strict=true", "score() takes no 'strict': it takes completions"),
        ("score = 3", "?strict=true", "is 3 (int), which takes no arguments"),
        ("class score:\n    def __init__(self, words): ...", "", "or say them: "),
        ("def score(completions): ...\nscore.reward_range = 'wide'", "", "reward_range is 'wide'"),
        ("def score(completions): ...", "?range=2..0", "the range of rewards 2..0 is none"),
    ],
)
def test_a_function_that_cannot_be_used_is_named(write: Write, source: str, options: str, message: str) -> None:
    with pytest.raises(JudgeError) as error:
        trust_verifier(write(source) + options)
    assert message in str(error.value)
    assert "verifier " in str(error.value)


def test_arguments_make_a_judge(write: Write) -> None:
    name = write(
        "def make(words, strict=False):\n"
        "    return lambda completions: [float((len(c.split()) <= words) and strict) for c in completions]\n"
        "score = make\n"
    )
    assert rewards(f"{name}?words=2&strict=true", "one two", "one two three") == [1.0, 0.0]


def test_a_missing_column_is_named_before_anything_is_judged(write: Write) -> None:
    judge = trust_verifier(write("def score(completions, ground_truth, level=0, **_): ...\n"))
    judge.check_spec({"ground_truth": "2"})
    with pytest.raises(
        SpecError, match="needs the column 'ground_truth', which this row has not: it has answer, level"
    ):
        judge.check_spec({"level": 1, "answer": 2})


def test_tokens_are_counted_and_not_seen() -> None:
    assert len(CountedTokens(3)) == 3
    assert CountedTokens(3)
    for read in (list, lambda ids: ids[0], lambda ids: ids[:2], lambda ids: 7 in ids):
        with pytest.raises(Exception, match="the store keeps the number of tokens, and not which they are"):
            read(CountedTokens(3))  # type: ignore[operator]


def test_trls_own_rewards_by_name() -> None:
    pytest.importorskip("trl")
    punish = "trl:get_soft_overlong_punishment?max_completion_len=20&soft_punish_cache=10"
    found = [score_jobs(jobs(punish, "text", tokens=count))[0] for count in (10, 15, 21)]
    assert [(score.reward, score.passed, score.reason) for score in found] == [
        (1.0, True, "raw 0.0"), (0.5, False, "raw -0.5"), (0.0, False, "raw -1.0"),
    ]  # fmt: skip
    thoughts = ("<think>\nso\n</think>\nthus", "thus")
    assert rewards("trl:think_format_reward", *thoughts, chat=CHAT) == [1.0, 0.0]
    with pytest.raises(JudgeError, match="did you mean think_format_reward"):
        trust_verifier("trl:thinking_format_reward")
    with pytest.raises(JudgeError, match="has no 'mine': did you mean accuracy_reward or"):  # not near any: the first
        trust_verifier("trl:mine")
    with pytest.raises(JudgeError, match="needs max_completion_len, soft_punish_cache"):
        trust_verifier("trl:get_soft_overlong_punishment")
    with pytest.raises(JudgeError, match="counts which tokens come again"):
        trust_verifier("trl:get_repetition_penalty_reward")


def test_trls_accuracy_needs_the_solution() -> None:
    pytest.importorskip("math_verify")
    name, spec = "trl:accuracy_reward", json.dumps({"solution": r"\frac{1}{3}"})
    boxed = (r"It is \boxed{\frac{1}{3}}", r"It is \boxed{\frac{1}{2}}")
    assert rewards(name, *boxed, chat=CHAT, spec=spec) == [1.0, 0.0]
    with pytest.raises(SpecError, match="needs the column 'solution'"):
        trust_verifier(name).check_spec({"answer": 3})
