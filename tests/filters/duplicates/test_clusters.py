from __future__ import annotations

import random
from itertools import combinations

from learnable.data.records import Prompt
from learnable.filters.duplicates.clusters import cluster_problems
from learnable.filters.duplicates.near_duplicates import find_duplicates
from learnable.filters.duplicates.texts import TEMPLATE_TEXTS

WORDS = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]


def ask(text: str, answer: str = "yes", problem: str = "") -> Prompt:
    return Prompt(text, "choice", {"answer": answer}, "f", "f", named_problem=problem)


def code(text: str, entry: str, expected: int) -> Prompt:
    return Prompt(text, "programs", {"entry": entry, "cases": [[[1], expected]], "cpu_seconds": 2}, "f", "f")


def test_prompts_with_the_same_cases_are_one_problem() -> None:
    add, plus, times = code("Add one.", "add", 2), code("A function plus(n).", "plus", 2), code("Times three.", "t", 3)
    first, second, third = cluster_problems([add, plus, times])
    assert first == second == add.problem_id
    assert third != first


def test_prompts_of_one_question_are_together_whatever_judges_them() -> None:
    one, other = code("Do it.", "f", 2), code("Do it.", "f", 3)
    assert len(set(cluster_problems([one, other]))) == 1


def test_what_connects_two_problems_joins_them() -> None:
    prompts = [ask("a", problem="p"), ask("b", problem="q"), ask("B", problem="q"), ask("b", "no", problem="p")]
    assert set(cluster_problems(prompts)) == {"p"}


def test_case_and_white_space_are_no_problem_of_their_own() -> None:
    assert len(set(cluster_problems([ask("Is it?"), ask(" is\n it?"), ask("Is it not?")]))) == 2


def near_texts(seed: int) -> list[Prompt]:
    """Return walks of texts, each a word away from the one before: too few for what they share to be a template."""
    rng = random.Random(seed)
    prompts = []
    for _ in range(6):
        words = [rng.choice(WORDS) for _ in range(45)]
        for step in range(TEMPLATE_TEXTS - 1):
            words[9 * step + 4] = f"step{'abcd'[step]}"
            prompts.append(ask(" ".join(words)))
    rng.shuffle(prompts)
    return prompts


def test_near_duplicates_are_together_with_what_lies_between_them() -> None:
    prompts = near_texts(3)
    clusters = dict(zip([p.prompt_id for p in prompts], cluster_problems(prompts), strict=True))
    joined, chained = 0, 0
    for left, right in combinations(prompts, 2):
        if not find_duplicates([left, right], 0.9).is_empty():
            joined += 1
            assert clusters[left.prompt_id] == clusters[right.prompt_id]
        else:
            chained += clusters[left.prompt_id] == clusters[right.prompt_id]
    assert joined >= 12
    assert chained >= 6
    assert len(set(clusters.values())) == 6


def test_they_are_left_alone_where_they_were_dropped_before() -> None:
    prompts = near_texts(4)
    assert len(set(cluster_problems(prompts, near=False))) == len(prompts)


def test_the_name_does_not_hang_on_the_order() -> None:
    prompts = near_texts(5)
    names = dict(zip([p.prompt_id for p in prompts], cluster_problems(prompts), strict=True))
    again = dict(zip([p.prompt_id for p in prompts[::-1]], cluster_problems(prompts[::-1]), strict=True))
    assert names == again


def test_no_prompts_have_no_clusters() -> None:
    assert cluster_problems([]) == []
