"""Laws of short answers: every explicit form counts, the last one wins, and naming many gains nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learnable.data.records import Score
from learnable.verifiers.answers.extraction import find_statements
from learnable.verifiers.answers.judges import ArithmeticVerifier, ChoiceVerifier, CountingVerifier
from learnable.verifiers.answers.numbers import normalize_number
from learnable.verifiers.protocol import SpecError

LETTERS = ["A", "B", "C", "D"]
FORMS = [
    "The answer is {}.",
    "the final answer is: {}",
    "Answer: {}",
    "**Answer:** {}",
    "**Answer**: **{}**",
    "**Final Answer**\n\n{}",
    "### Answer\n{}\n",
    "#### {}",
    "<answer>{}</answer>",
    "<answer>\n{}\n</answer>",
    "<answer>{}",
    "\\boxed{{{}}}",
    "$$\\boxed{{\\text{{{}}}}}$$",
    "So it is \\( \\boxed{{{}}} \\).",
    "The correct answer to this is {}.",
    "My answer would be {}.",
]
NUMBER_FORMS = [
    "{}",
    "**{}**",
    "= {}",
    "x = {}",
    "{} apples",
    "It is {}.",
    "2 + 5 = {}",
    "That makes {}",
    "`{}`",
    "{}.0",
]
CHOICE_FORMS = ["{}", "{}.", "({})", "**{}**", "Option {}", "I choose {}.", "{} is correct.", "It must be {}", "So {}"]
ANY_FORM = [(form, n) for n, forms in enumerate((FORMS, NUMBER_FORMS, CHOICE_FORMS)) for form in forms]
WORK = ["", "First take 3 and 5.\n", "1. Look.\n2. Think of 9.\n", "Let me compare A and B.\n", "A good question.\n"]
PROSE = st.text(alphabet="abc AB.,:;()*\n'-12", max_size=40)
HOSTILE = [
    "answer " * 5_000,
    "answer:" + " " * 30_000,
    "Question" + " " * 30_000,
    "\\boxed{" * 5_000,
    "<answer>" * 5_000,
    "A) " * 10_000,
    "A\n" * 15_000,
    "1+" * 15_000,
    "1 " + " " * 30_000 + "x",
    "= 1 " * 8_000,
    "#### " * 6_000,
    "not " * 8_000 + "B",
    "**" * 15_000,
    "\n" * 30_000,
]


def numeric(completion: str, answer: int) -> Score:
    return ArithmeticVerifier().score(completion, prompt="", spec={"answer": answer})


def chosen(completion: str, answer: str, choices: list[str] | None = None) -> Score:
    spec: dict[str, Any] = {"answer": answer} if choices is None else {"answer": answer, "choices": choices}
    return ChoiceVerifier().score(completion, prompt="", spec=spec)


@given(answer=st.integers(-(10**9), 10**9), form=st.sampled_from(FORMS), work=st.sampled_from(WORK))
def test_every_explicit_form_of_a_number_counts(answer: int, form: str, work: str) -> None:
    for written in (str(answer), f"{answer:,}", str(answer).replace("-", "\u2212"), f"${answer}$", f"{answer}.0"):
        assert numeric(work + form.format(written), answer).reward == 1.0
        assert CountingVerifier().score(work + form.format(written), prompt="", spec={"answer": answer}).passed
        assert numeric(work + form.format(written), answer + 1).reward == 0.0


@given(answer=st.integers(-999, 10**6), form=st.sampled_from(NUMBER_FORMS), thought=PROSE)
def test_plain_forms_of_a_number_count_whatever_was_thought(answer: int, form: str, thought: str) -> None:
    assert numeric(form.format(answer), answer).passed
    assert numeric(f"<think>{thought}</think>{form.format(answer)}", answer).passed
    assert numeric(f"{thought}</think>\n{form.format(answer)}", answer).passed


@pytest.mark.parametrize("choices", [LETTERS, None], ids=["choices", "no choices"])
@given(answer=st.sampled_from(LETTERS), form=st.sampled_from(FORMS), work=st.sampled_from(WORK))
def test_every_explicit_form_of_a_choice_counts(choices: list[str] | None, answer: str, form: str, work: str) -> None:
    other = LETTERS[LETTERS.index(answer) - 1]
    for written in (answer, answer.lower(), f"({answer})", f"**{answer}**", f"{answer}."):
        assert chosen(work + form.format(written), answer, choices).reward == 1.0
        assert chosen(work + form.format(written), other, choices).reward == 0.0


@given(answer=st.sampled_from(LETTERS), form=st.sampled_from(CHOICE_FORMS), thought=PROSE)
def test_plain_forms_of_a_choice_count_whatever_was_thought(answer: str, form: str, thought: str) -> None:
    assert chosen(form.format(answer), answer, LETTERS).passed
    assert chosen(f"<think>{thought}</think>{form.format(answer)}", answer, LETTERS).passed
    assert chosen(f"{thought}</think>\n{form.format(answer)}", answer, LETTERS).passed


@given(
    named=st.permutations(LETTERS),
    joint=st.sampled_from([" ", ", ", " or ", "/", "\n", ". ", " and ", "; ", " | ", ") ", "\n\n", ", or "]),
    form=st.sampled_from(["{}", "({})", "**{}**", "{}.", "'{}'"]),
    frame=st.sampled_from(
        ["{}", "It is {}", "One of {}", "The answer is {}", "Answer: {}", "<answer>{}</answer>", "{}?"]
    ),
    times=st.integers(1, 50),
)
@example(named=["A", "B", "C", "D"], joint=" | ", form="({})", frame="{}", times=1)
def test_naming_every_choice_is_no_choice(named: list[str], joint: str, form: str, frame: str, times: int) -> None:
    text = frame.format(joint.join(form.format(one) for one in named * times))
    for answer in LETTERS:
        assert chosen(text, answer, LETTERS).reward == 0.0
        assert chosen(text, answer).reward == 0.0


@given(
    named=st.permutations(LETTERS), form=st.sampled_from(["{}) foo", "({}) foo", "{}. foo", "- {}: foo", "**{}.** foo"])
)
def test_the_choices_of_the_prompt_again_are_no_choice(named: list[str], form: str) -> None:
    text = "\n".join(form.format(one) for one in named)
    for answer in LETTERS:
        assert chosen(text, answer, LETTERS).reward == 0.0
        assert chosen(f"{text}\n{answer}", answer, LETTERS).reward == 1.0
        assert chosen(f"{text}\n\nAnswer: {answer}", answer, LETTERS).reward == 1.0


@given(first=st.integers(0, 999), last=st.integers(0, 999), forms=st.tuples(*[st.sampled_from(FORMS[:4])] * 2))
def test_the_last_statement_counts(first: int, last: int, forms: tuple[str, str]) -> None:
    text = "\n".join(form.format(number) for form, number in zip(forms, (first, last), strict=True))
    assert numeric(text, last).passed
    assert numeric(text, first).passed is (first == last)


@given(one=st.integers(0, 999), other=st.integers(0, 999), frame=st.sampled_from(["{}", *FORMS]))
def test_a_hedge_between_two_numbers_is_no_answer(one: int, other: int, frame: str) -> None:
    text = frame.format(f"{one} or {other}")
    if one != other:
        assert not numeric(text, one).passed
        assert not numeric(text, other).passed


@given(a=st.integers(0, 50), b=st.integers(0, 50), sign=st.sampled_from(["+", "-", "*", "\u00d7", "x"]))
def test_the_question_again_is_no_answer(a: int, b: int, sign: str) -> None:
    for text in (f"{a} {sign} {b}", f"{a} {sign} {b} = ", f"What is {a} {sign} {b}?", f"I compute {a} {sign} {b}."):
        assert ArithmeticVerifier().extract(text, spec={"answer": a}) is None


@given(text=st.text() | PROSE | st.lists(st.sampled_from([form for form, _ in ANY_FORM] + LETTERS)).map(" ".join))
@example(text="answer:\n")
def test_any_text_is_read(text: str) -> None:
    for choices in (LETTERS, None):
        score = chosen(text, "A", choices)
        assert score.passed or score.reason
    for judge in (ArithmeticVerifier(), CountingVerifier()):
        found = judge.extract(text, spec={"answer": 1})
        assert found is None or found == normalize_number(found)


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:9] for text in HOSTILE])
def test_hostile_text_is_read(text: str) -> None:
    assert numeric(text, 7).reward == chosen(text, "C").reward == 0.0
    assert chosen(text, "C", ["C", "D"]).reward == 0.0
    assert CountingVerifier().score(text, prompt="", spec={"answer": 7}).reward == 0.0


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (r"\boxed{\frac{1}{2}}. It is \fbox{7}", [r"\frac{1}{2}", "7"]),
        (r"\boxed{\frac{1}{2}} and \fbox{7}", [r"\frac{1}{2}, 7"]),
        (r"$\boxed{6}$ apples or $\boxed{7}$", ["6 or 7"]),
        (r"\boxed{6} no, \boxed{7}", ["6", "7"]),
        (r"\boxed{never closed", []),
        ("<answer>7</answer> <ANSWER>8", ["7", "8"]),
        ("<answer>7</answer> or <ANSWER>8", ["7 or 8"]),
        (r"The answer is 7 or \boxed{8}", [r"7 or \boxed{8}"]),
        ("The answer is 7, or the answer is 8", ["7, or the answer is 8"]),
        ("The answer is 7. Or 8.", ["7. Or 8"]),
        ("The answer is 7; it is odd", ["7"]),
        ("The answer is $7;8$.", ["$7;8$"]),
        ("The answer is 7; 8.", ["7; 8"]),
        ("The answer is $7; he pays $8", ["$7"]),
        ("The final answer is\n\n\\[\n\\frac{1}{2}\n\\]\n", [r"\frac{1}{2}"]),
        ("The answer is:\n$$\nx = 7\n$$", ["x = 7"]),
        ("The answer is\n\\begin{align*}\nx &= 3 + 4 \\\\ &= 7\n\\end{align*}", ["x = 3 + 4 = 7"]),
        ("Final answer:\n```\n7\n```", ["7"]),
        ("The answer is **1/2**.", ["1/2"]),
        ("The answers are 7 and 8.", ["7 and 8"]),
        ("So it is **1/2**.", ["1/2"]),
        ("9 - 2 = 7. So he has __7__ apples left.", ["7"]),
        ("We need *1,234*.", ["1,234"]),
        ("It holds **7** apples and **8** pears.", ["7, 8"]),
        ("**Note:** it holds 7.", []),
        ("It is not **7**.", []),
        ("**7** is wrong.", []),
        ("**A**\n**B**", []),
        ("\uff21nswer\uff1a\uff17", ["7"]),
        ("</answer>7", []),
        ("#### 7\n##### 8\n#9", ["7"]),
        ("The answer is not 7. What is the answer?", []),
        ("answers 7, Answer Yes or No", []),
        ("The answer to 3 + 4 is 7. ans = 8; my choice: 9", ["7", "8", "9"]),
        ("Answer: 7\nQuestion 2: ?\nAnswer: 8", ["7"]),
        ("Question: 3 + 4?\nAnswer: 7", ["7"]),
    ],
)
def test_what_is_explicitly_stated(text: str, stated: list[str]) -> None:
    assert [one.text for one in find_statements(text)] == stated


def test_a_choice_may_be_a_number() -> None:
    verifier = ChoiceVerifier()
    for spec in ({"answer": 7}, {"answer": 7, "choices": [7, "8"]}, {"answer": "8", "choices": [7, 8]}):
        verifier.check_spec(spec)
        assert verifier.score(f"Answer: {spec['answer']}", prompt="", spec=spec).passed
        assert not verifier.score("Answer: 9", prompt="", spec=spec).passed
    for wrong in (
        {"answer": True},
        {"answer": 1.5},
        {"answer": 7, "choices": [8]},
        {"answer": "a", "choices": ["a", True]},
    ):
        with pytest.raises(SpecError, match="spec key"):
            verifier.check_spec(wrong)
