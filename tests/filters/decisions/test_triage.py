"""Triage of never-solved prompts: each cause planted, and habits of the policy that look like a wrong reference."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

from learnable.filters.decisions.triage import TRIAGES, triage

SCHEMA = {
    "prompt_id": pl.String,
    "rollout_id": pl.String,
    "family": pl.String,
    "form": pl.String,
    "reward": pl.Float64,
    "passed": pl.Boolean,
    "verdict": pl.String,
    "reason": pl.String,
    "components": pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
}
ANSWERS = {"prompt_id": pl.String, "rollout_id": pl.String, "answer": pl.String}
Parts = dict[str, float] | None


@dataclass
class Pool:
    """Scores and answers under construction."""

    rows: list[tuple[object, ...]] = field(default_factory=list)
    answers: list[tuple[str, str, str | None]] = field(default_factory=list)

    def add(
        self, prompt: str, reward: float | None, verdict: str = "scored", reason: str = "", parts: Parts = None,
        form: str = "F", passed: bool | None = None,
    ) -> str:  # fmt: skip
        rollout = f"{prompt}/{len(self.rows)}"
        right = (reward == 1 if passed is None else passed) if reward is not None else None
        components = None if parts is None else [{"key": k, "value": v} for k, v in parts.items()]
        self.rows.append((prompt, rollout, "f", form, reward, right, verdict, reason, components))
        return rollout

    def answer(self, prompt: str, given: str | None, right: str, form: str = "F") -> None:
        self.answers.append((prompt, self.add(prompt, float(given == right), form=form), given))

    def triage(self, references: dict[str, str] | None = None) -> dict[str, tuple[str, str]]:
        scores = pl.DataFrame(self.rows, schema=SCHEMA, orient="row")
        answers = pl.DataFrame(self.answers, schema=ANSWERS, orient="row")
        known = None
        if references is not None:
            known = pl.DataFrame({"prompt_id": list(references), "reference": list(references.values())})
        found = triage(scores, answers, known)
        assert found["triage"].dtype == pl.Enum(TRIAGES)
        assert found["prompt_id"].is_sorted()
        return {prompt: (cause, evidence) for prompt, cause, evidence in found.rows()}


def answered_pool(rng: np.random.Generator, prompts: int = 60, rate: float = 0.6, form: str = "F") -> Pool:
    """Prompts with references of their own, which the policy gives at this rate and else misses by a little."""
    pool = Pool()
    for i in range(prompts):
        right = 100 + 7 * i
        for _ in range(16):
            miss = right + int(rng.integers(1, 7))
            pool.answer(f"{form} other {i}", str(right if rng.random() < rate else miss), str(right), form)
    return pool


def test_solved_and_unscored_prompts_are_not_triaged() -> None:
    pool = Pool()
    for reward in (0.0, 1.0, 0.0):
        pool.add("solved", reward)
    for _ in range(4):
        pool.add("never scored", None, "verifier_error")
        pool.add("no engine", None, "engine_error")
        pool.add("hard", 0.0)
    assert pool.triage() == {"hard": ("plain_hard", "best reward 0.0 over 4 completions")}


def test_each_cause_is_named_with_its_evidence() -> None:
    pool = Pool()
    for i in range(8):
        pool.add("broken", *((None, "verifier_error", "out of ink") if i < 5 else (0.0, "scored", "")))
        pool.add("cut", 0.0, "truncated" if i < 5 else "scored")
        pool.add("no program", 0.0, reason="extraction_failed: no program" if i < 5 else "wrong answer")
        pool.add("close", 0.5 + 0.05 * i, passed=False)
        pool.add("parts", 0.1, parts={"tests": 0.9 - 0.01 * i, "compiles": 1.0})
        pool.add("half", 0.5, parts={"tests": 0.0, "compiles": 1.0})
        pool.answers.append(("mute", pool.add("mute", 0.0), None if i < 5 else str(i)))
        pool.add("not read", 0.0)
    assert pool.triage() == {
        "broken": ("verifier_error", "the verifier failed on 5 of 8 completions: out of ink"),
        "cut": ("truncated", "5 of 8 completions ran out of tokens"),
        "no program": ("extraction_failed", "5 of 8 completions hold no answer that could be read"),
        "mute": ("extraction_failed", "5 of 8 completions hold no answer that could be read"),
        "close": ("near_miss", "best reward 0.85"),
        "parts": ("near_miss", "best reward 0.1, weakest component of a rollout 0.9"),
        "half": ("plain_hard", "best reward 0.5 over 8 completions"),
        "not read": ("plain_hard", "best reward 0.0 over 8 completions"),
    }


def test_half_is_not_most() -> None:
    pool = Pool()
    for i in range(8):
        pool.add("broken", *((None, "verifier_error") if i < 4 else (0.0, "scored")))
        pool.add("cut", 0.0, "truncated" if i < 4 else "scored")
        pool.answers.append(("mute", pool.add("mute", 0.0), None if i < 4 else str(i)))
    assert {cause for cause, _ in pool.triage().values()} == {"plain_hard"}


def test_a_fault_of_ours_comes_before_what_it_may_cause() -> None:
    pool = Pool()
    for i in range(8):
        pool.add("both", *((None, "verifier_error") if i < 5 else (0.0, "truncated")))
        pool.answers.append(("cut and mute", pool.add("cut and mute", 0.0, "truncated"), None))
    causes = {prompt: cause for prompt, (cause, _) in pool.triage().items()}
    assert causes == {"both": "verifier_error", "cut and mute": "truncated"}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", [0.1, 0.6, 1.0])
def test_a_wrong_reference_is_found(seed: int, rate: float) -> None:
    pool = answered_pool(np.random.default_rng(seed), rate=rate)
    for i in range(16):
        pool.answer("mislabelled", "42" if i < 14 else "43", "41")
    cause, evidence = pool.triage({"mislabelled": "41"})["mislabelled"]
    assert cause == "bad_label"
    assert evidence == "14 of 16 completions answer 42, elsewhere at most 0.0% do; the reference is 41"
    assert pool.triage()["mislabelled"][1].endswith("; the reference is another")


def with_habit(rng: np.random.Generator, prompts: int, habitual: float, rate: float) -> Pool:
    """A policy that prints 7 to this share of a form's prompts, whatever is asked, and guesses at the others."""
    pool = answered_pool(rng, rate=rate)
    for i in range(prompts):
        prints_seven = i < habitual * prompts
        for _ in range(16):
            miss = 1000 + int(rng.integers(0, 500))
            pool.answer(f"habit {i}", "7" if prints_seven else str(miss), str(2000 + i), "G")
    return pool


@pytest.mark.parametrize("habitual", [0.05, 0.15, 0.5, 1.0])
@pytest.mark.parametrize("rate", [0.1, 0.6, 1.0])
def test_a_habit_is_no_evidence_against_references(habitual: float, rate: float) -> None:
    # The form is one of many prompts, so that among all of the family's completions 7 may be rare.
    for seed in range(10):
        found = with_habit(np.random.default_rng(seed), 60, habitual, rate).triage()
        causes = {cause for prompt, (cause, _) in found.items() if prompt.startswith("habit")}
        assert causes == {"plain_hard"}, seed


@pytest.mark.parametrize("form", ["G", "H"], ids=["of its form", "of its family"])
def test_a_habit_that_is_mostly_right_is_one_too(form: str) -> None:
    pool = answered_pool(np.random.default_rng(0), prompts=600 if form == "G" else 60, rate=0.5)
    for i in range(30):
        for _ in range(16):
            pool.answer(f"yes {i}", "7", "7", "G")
            pool.answer("exception", "7", "8", form)
    assert pool.triage()["exception"][0] == "plain_hard"


@pytest.mark.parametrize("form", ["G", "H"], ids=["of its form", "of its family"])
def test_what_a_policy_says_when_it_does_not_know_is_a_habit(form: str) -> None:
    # It is mostly right, so that 0 is rare among all of its answers, and yet it is nearly all of its wrong ones.
    pool = answered_pool(np.random.default_rng(0), prompts=600 if form == "G" else 10, rate=0.5 if form == "G" else 1)
    for i in range(30):
        for j in range(16):
            pool.answer(f"known {i}", "0" if j == 0 else "9", "9", "G")
    for _ in range(16):
        pool.answer("unknown", "0", "8", form)
    assert pool.triage()["unknown"][0] == "plain_hard"


@pytest.mark.parametrize(("elsewhere", "cause"), [(3, "bad_label"), (5, "plain_hard")])
def test_an_answer_must_be_ten_times_as_common_as_elsewhere(elsewhere: int, cause: str) -> None:
    # Of 40 other prompts so many are always answered 42, and rightly: 7.5 or 12.5 %.
    pool = Pool()
    for i in range(40):
        for _ in range(8):
            answer = "42" if i < elsewhere else str(100 + i)
            pool.answer(f"other {i}", answer, answer)
    for _ in range(8):
        pool.answer("doubtful", "42", "41")
    assert pool.triage()["doubtful"][0] == cause


def test_two_choices_say_nothing_of_a_reference() -> None:
    pool = Pool()
    for i in range(40):
        for _ in range(8):
            pool.answer(f"p{i}", "yes" if i % 2 else "no", "yes" if i % 2 else "no")
            pool.answer("odd one", "yes", "no")
    assert pool.triage()["odd one"][0] == "plain_hard"


@pytest.mark.parametrize(
    ("others", "agreeing", "answered", "reference"),
    [(15, 16, 16, "41"), (60, 7, 7, "41"), (60, 11, 16, "41"), (60, 16, 16, "42")],
    ids=["few other prompts", "few answers", "little agreement", "it is the reference"],
)
def test_thin_evidence_is_not_enough(others: int, agreeing: int, answered: int, reference: str) -> None:
    pool = answered_pool(np.random.default_rng(2), prompts=others)
    for i in range(answered):
        pool.answer("doubtful", "42" if i < agreeing else str(i), "nothing")
    assert pool.triage({"doubtful": reference})["doubtful"][0] == "plain_hard"


def test_no_answers_at_all() -> None:
    assert Pool().triage() == {}
