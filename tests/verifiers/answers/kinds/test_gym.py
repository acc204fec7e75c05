"""reasoning-gym's scores behind our extraction: what they give for parts, near misses, code and no answer at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from learnable.data.records import Score
from learnable.data.sources.gym.library import library_version, load_library
from learnable.verifiers.answers.kinds.gym import MAX_WRONG, GymVerifier
from learnable.verifiers.protocol import SpecError

needs_library = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")
MATRIX = "1 0\n0 1"
HALF = {"numerator": 2, "denominator": 4, "simplified_numerator": 1, "simplified_denominator": 2}
CUBIC = {"variable": "x", "integrand": "3*x**2"}
EVALUATING = (
    *("binary_matrix", "n_queens", "spiral_matrix", "string_insertion"),  # a list of what is printed
    *("countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"),
)


def spec(dataset: str, answer: str | None = "12", **more: Any) -> dict[str, Any]:
    own = {"metadata": {}, **more}
    return {"dataset": dataset, "answer": answer, **own}


def judged(completion: str, dataset: str, answer: str | None = "12", **more: Any) -> Score:
    GymVerifier().check_spec(spec(dataset, answer, **more))
    return GymVerifier().score(completion, prompt="", spec=spec(dataset, answer, **more))


def tagged(answer: str, *args: Any, **more: Any) -> Score:
    return judged(f"<answer>{answer}</answer>", *args, **more)


@pytest.mark.parametrize(
    ("completion", "answer", "rule"),
    [
        ("<answer>12</answer>", "12", "tag"),
        ("Is it 7? <answer>7</answer> No: <answer>\n1 2\n3 4\n</answer> Done, I think.", "1 2\n3 4", "tag"),
        ("<answer>12", "12", "tag"),
        (r"It is \boxed{12}, as 3 * 4 = 12", "12", "boxed"),
        ("So the answer is 12.\n", "12", "words"),
        (" 1 2\n3 4\n", "1 2\n3 4", "whole"),
        ("<think>The answer is 7.</think>\n12", "12", "whole"),
    ],
)
def test_the_answer_is_read_before_it_is_scored(completion, answer, rule):
    reading = GymVerifier().read(completion, spec=spec("chain_sum"))
    assert (reading.answer, reading.rule) == (answer, rule)


def test_a_rule_may_be_named():
    assert GymVerifier().extract("3\n#### 12", spec=spec("chain_sum", extract="hashes")) == "12"
    assert GymVerifier().extract("<answer>12</answer>", spec=spec("chain_sum", extract="hashes")) is None


@pytest.mark.parametrize(
    ("completion", "why"), [("", "nothing"), ("<answer> </answer>", "nothing"), ("7" * 20_001, "more")]
)
def test_no_answer_is_worth_nothing_and_needs_no_library(completion, why):
    score = judged(completion, "chain_sum")
    assert (score.reward, score.passed, score.verdict) == (0.0, False, "scored")
    assert score.reason.startswith(f"extraction_failed: {why}")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dataset": ""}, "'dataset'"),
        ({"answer": 12}, "a text or null"),
        ({"metadata": "x"}, "'metadata'"),
        ({"config": [1]}, "'config'"),
        ({"extract": "last"}, "numbers and lines alone"),
        ({"extract": "nowhere"}, "no such rule"),
        ({"reward": "distance"}, "'reward'"),
        ({"seed": 3}, "no such key"),
    ],
)
def test_specs_that_cannot_be_judged_are_refused(wrong, words):
    with pytest.raises(SpecError, match=words):
        GymVerifier().check_spec(spec("chain_sum") | wrong)


@needs_library
def test_the_version_is_ours_and_the_librarys():
    assert GymVerifier().version == f"5-{library_version()}"


@needs_library
@pytest.mark.parametrize(
    ("dataset", "answer", "given"),
    [
        ("ransom_note", "True", "It is True"),  # the usual scorer
        ("ransom_note", "True", "TrueTrueTrue"),
        ("chain_sum", "12", "The sum is 12"),  # numbers
        ("chain_sum", "1,200", "=1200="),
        ("chain_sum", "12", "123"),
        ("manipulate_matrix", MATRIX, f"{MATRIX}\n1 1"),
        ("tsumego", "C4", "C4 or D4"),
        ("codeio", '{"a": 1}', 'Surely {"a": 1}'),
        ("codeio", '{"a": 1}', 'Surely {"a":\n1}'),
    ],
)
def test_an_answer_that_contains_the_right_one_is_worth_nothing(dataset, answer, given):
    entry = {"question": "", "answer": answer, "metadata": {}}
    data_set = load_library().create_dataset(dataset, seed=0, size=1)
    assert data_set.score_answer(given, entry) > 0.05  # the trap is there
    score = tagged(given, dataset, answer)
    assert (score.reward, score.passed) == (0.0, False)
    assert tagged(answer, dataset, answer).reward == 1.0


@needs_library
def test_other_credit_for_a_part_stays():
    words = {"sorted_words": ["a", "b", "c", "d"]}
    assert tagged("a, b, d, c", "word_sorting", "a, b, c, d", metadata=words).reward == 0.5
    assert tagged("00:30", "time_intervals", "01:00", metadata={"task_type": "time"}).reward == pytest.approx(
        0.979, 0.01
    )


@needs_library
@pytest.mark.parametrize(
    ("dataset", "answer", "given", "metadata"),
    [
        ("time_intervals", "01:00", "01:01", {"task_type": "time"}),
        ("game_of_life", json.dumps([[0] * 20] * 20), json.dumps([[1] + [0] * 19] + [[0] * 20] * 19), {}),
        ("calendar_arithmetic", "1000", "1001", {"task": "count_days"}),
    ],
)
def test_a_near_miss_does_not_pass_and_is_worth_less_than_what_is_right(dataset, answer, given, metadata):
    data_set = load_library().create_dataset(dataset, seed=0, size=1)
    entry = {"question": "", "answer": answer, "metadata": metadata}
    assert 0.99 <= data_set.score_answer(given, entry) < 1  # the trap is there
    score = tagged(given, dataset, answer, metadata=metadata)
    assert (score.reward, score.passed) == (MAX_WRONG, False)


@needs_library
@pytest.mark.parametrize(
    ("dataset", "answer", "given", "metadata"),
    [
        ("coin_flip", "0.0625", "0", {}),
        ("complex_arithmetic", "3.0 + 4.0i", "nan", {"result": [3.0, 4.0]}),
        ("figlet_font", "earthquakes", "earthquakesandmore", {}),
        ("game_of_life", "[[1, 0], [0, 1]]", "[[1, 0, 1], [0, 1], [1, 1]]", {}),
        ("game_of_life_halting", "True", "False", {}),
        ("gsm_symbolic", "40", "-40", {}),
        ("letter_jumble", "a big dog", "a big dog barks", {}),
        ("number_sorting", "['-1.5', '2']", "['-1', '2.5']", {"direction": "ascending"}),
        ("pool_matrix", "1 2\n3 4", "1 2\n3 4  # 5 6", {}),
        ("puzzle24", "1 + 3 + 10 + 10", "4 * 6 * 1 * 1", {"numbers": [1, 3, 10, 10]}),
        ("spell_backward", "aniccav", "aniccavaniccav", {}),
    ],
)
def test_what_a_data_set_passes_and_is_wrong_does_not(dataset, answer, given, metadata):
    data_set = load_library().create_dataset(dataset, seed=0, size=1)
    assert data_set.score_answer(given, {"question": "", "answer": answer, "metadata": metadata}) >= 0.99  # the trap
    assert tagged(given, dataset, answer, metadata=metadata).passed is False
    right = tagged(answer, dataset, answer, metadata=metadata)
    assert (right.reward, right.passed) == (1.0, True)


@needs_library
@pytest.mark.parametrize(
    ("dataset", "given", "metadata"),
    [
        ("prime_factorization", "two times three", {}),
        ("boxnet", "42", {"initial_state": {}}),
        ("game_of_life", "{}", {}),
    ],
)
def test_what_is_no_answer_to_a_data_set_is_wrong_and_no_fault(dataset, given, metadata):
    answer = None if dataset == "boxnet" else "[[0]]" if dataset == "game_of_life" else "2 \N{MULTIPLICATION SIGN} 3"
    score = tagged(given, dataset, answer, metadata=metadata)
    assert (score.reward, score.passed, score.verdict) == (0.0, False, "scored")
    assert score.reason.startswith("extraction_failed: no answer to this")


@needs_library
def test_what_a_scorer_raises_is_no_zero():
    score = (
        tagged("1", "ab", "1", metadata={}),
        tagged("A", "bitwise_arithmetic", "1", metadata={"problem": "1 + 0"}),
        tagged("a", "word_sorting", "a"),
    )
    assert [one.verdict for one in score] == ["scored", "scored", "verifier_error"]
    assert score[2].reward is None
    assert score[2].reason == "its scorer raised KeyError: 'sorted_words'"


@needs_library
@pytest.mark.parametrize(
    ("dataset", "answer", "given", "metadata"),
    [
        (
            "advanced_geometry",
            "(1.0, 2.0)",
            "(1.0, 2.0), (3.0, 4.0)",
            {"task_type": "orthocenter", "ortho": ["1", "2"]},
        ),
        ("cryptarithm", "A=1,B=2", "A=3,A=1,B=2", {"words_letters": ["A", "A"], "result_letters": "B"}),
        ("fraction_simplification", r"$\frac{1}{2}$", r"\frac{1}{2}, \frac{1}{3}", HALF),
        ("fraction_simplification", "1/2", r"$\frac{1}{2}$ or $\frac{1}{3}$", HALF),
        ("gsm_symbolic", "18", "18 apples or 19 apples", {}),
        ("gsm_symbolic", "18", "18 apples and 3 pears", {}),
        ("gsm_symbolic", "18", "18 (19)", {}),
        ("knights_knaves", "Ann is a knight, and Bo is a knave.", "Ann is a knight, or Bo is a knave.", {}),
        ("polynomial_equations", "1.5", "1.5, or 2.5", {}),
        ("polynomial_equations", "1.5", "1.5, not 2.5", {}),
        ("polynomial_equations", "", "x = 2", {}),
        ("polynomial_multiplication", "x**2", "x**2 or x**3", {}),
        ("quantum_lock", "A \u2192 B", "A or B", {}),
        ("simple_integration", "x**3 + C", "x**3 + C or x**2 + C", CUBIC),
        ("simple_integration", "x**3 + C", "x**3 + C  # or x**2 + C", CUBIC),
        ("simple_integration", "x**3 + C", "x**3 + C if C else x**2", CUBIC),
        ("time_intervals", "5 days", "5 days and 6 days", {"task_type": "date"}),
        ("time_intervals", "3 days, 04:05", "3 days, 04:05, 5 days, 06:07", {"task_type": "datetime"}),
        ("time_intervals", "04:05", "04:05; 06:07", {"task_type": "time"}),
    ],
)
def test_an_answer_that_states_alternatives_is_none(dataset, answer, given, metadata):
    assert tagged(given, dataset, answer, metadata=metadata).passed is False
    right = tagged(answer or '""', dataset, answer, metadata=metadata)
    assert (right.reward, right.passed) == (1.0, True)


@needs_library
def test_words_of_choice_in_the_right_answer_are_its_own():
    assert tagged("tea or milk", "sentence_reordering", "tea or milk").passed


@needs_library
@pytest.mark.parametrize("given", ["5 days", "5", "5 DAYS.", " 5 days "])
def test_other_writings_of_a_time_stay(given):
    assert tagged(given, "time_intervals", "5 days", metadata={"task_type": "date"}).passed


@needs_library
@pytest.mark.parametrize("dataset", EVALUATING)
@pytest.mark.parametrize(
    "given",
    ["[open({!r}, 'w')]", "exec(\"open({!r}, 'w')\")", "sympify(\"open({!r}, 'w')\")", "x.func", "().__class__"],
)
def test_answers_are_not_run_as_programs(dataset, given, tmp_path):
    mark = tmp_path / "ran"
    row = {"metadata": CUBIC | {"numbers": [1, 2], "target": 3, "valid_answers": []}}
    score = tagged(given.format(str(mark)), dataset, "x", **row)
    assert (score.reward, score.verdict) == (0.0, "scored")
    assert score.reason.startswith("extraction_failed: no answer to this: ")
    assert not mark.exists()


@needs_library
def test_outside_of_scoring_sympy_and_the_library_are_as_they_were():
    sympy = pytest.importorskip("sympy")
    for _ in range(2):
        assert str(sympy.sympify("integrate(2*x, x) + max(1, 2)")) == "x**2 + 2"
        assert (
            load_library().create_dataset("bitwise_arithmetic", seed=1, size=1)[0]["answer"].startswith(("0x", "-0x"))
        )
        assert not tagged("integrate(3*x**2, x)", "simple_integration", "x**3 + C", metadata=CUBIC).passed


@needs_library
def test_answers_are_read_as_literals_and_formulas():
    assert tagged("['a', 'b']", "string_insertion", "ab").reward == 0.1
    for right in ("x**3", "x**3 + C", "x**3 + 7 - log(2)", "x*x**2 + C", "3*x**3/3 + sqrt(2)*C", "Rational(2, 2)*x**3"):
        assert tagged(right, "simple_integration", "x**3 + C", metadata=CUBIC).passed


@needs_library
@pytest.mark.parametrize(
    "given", ["9**9**9**9", "1 << 9**9", "exp(exp(exp(exp(9))))", "1e999999999", "1+" * 9000 + "1"]
)
def test_a_number_that_is_too_large_is_a_wrong_answer(given):
    for dataset in ("countdown", "puzzle24"):
        score = tagged(given, dataset, None, metadata={"numbers": [9, 9, 9, 9], "target": 3})
        assert (score.reward, score.verdict) == (0.0, "scored")


@needs_library
@pytest.mark.parametrize("given", ["(x+y+1)**200", "x**9**9", "(x+1)**300 - (x+2)**300", "((x**300)**300)**0"])
def test_a_power_that_is_too_large_is_a_wrong_answer(given):
    score = tagged(given, "simple_integration", "x**3 + C", metadata=CUBIC)
    assert (score.reward, score.verdict) == (0.0, "scored")
    assert score.reason.endswith("it is too large a number or power")


@needs_library
def test_long_polynomials_with_large_coefficients_are_no_bombs():
    long = " + ".join(f"{10**90 + n}*x**{n % 40}*y**{n // 40}" for n in range(150))
    assert tagged(long, "polynomial_multiplication", long).passed


@pytest.mark.parametrize("evil", ["open('ran', 'w')", "[x.y]", "().__class__", "9**9**9**9", "x = 2", ["1"], None])
@pytest.mark.parametrize(
    ("dataset", "place"),
    [
        ("bitwise_arithmetic", "metadata.problem"),
        ("intermediate_integration", "metadata.integrand"),
        ("number_sorting", "answer"),
        ("polynomial_multiplication", "answer"),
        ("simple_integration", "metadata.integrand"),
    ],
)
def test_a_row_that_has_more_than_a_formula_is_refused(dataset, place, evil):
    key = place.partition(".")[2]
    row = spec(dataset, "12", metadata={key: evil}) if key else spec(dataset, evil)
    with pytest.raises(SpecError, match=rf"{place}|give the entry's, a text or null"):
        GymVerifier().check_spec(row)


def test_a_row_names_no_place_of_a_file():
    row = spec("spell_backward", "ab", config={"data_file": "../../secret.txt"})
    with pytest.raises(SpecError, match="names a file of reasoning-gym, which is in no folder"):
        GymVerifier().check_spec(row)
    GymVerifier().check_spec(spec("spell_backward", "ab", config={"data_file": "words3to10.txt"}))


@needs_library
def test_the_configuration_is_the_prompts_own():
    exact = {"max_num_decimal_places": 6}
    assert tagged("0.1234", "decimal_arithmetic", "0.123").passed
    assert not tagged("0.1234", "decimal_arithmetic", "0.123", config=exact).passed


@needs_library
def test_unknown_data_sets_are_refused_when_they_are_judged():
    with pytest.raises(SpecError, match=r"'chain_sun'.*has none of this name"):
        tagged("1", "chain_sun")


@needs_library
@pytest.mark.parametrize(
    ("dataset", "config"), [("composite", {"datasets": [{"name": "chain_sum"}]}), ("chain_sum", {"min_terms": -1})]
)
def test_a_configuration_that_the_data_set_does_not_take_is_refused(dataset, config):
    with pytest.raises(SpecError, match=rf"'config'.*{dataset} does not take it"):
        tagged("1", dataset, config=config)


@needs_library
def test_a_reward_may_have_another_shape():
    shape = {"right": {"kind": "correct"}, "form": {"kind": "tags", "tags": ["answer"], "weight": 1}}
    score = tagged("7", "chain_sum", reward=shape)
    assert (score.reward, score.components) == (0.5, {"right": 0.0, "form": 1.0})
