from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.data.sources.selection import assign_splits, select_prompts


def prompts(numbers: list[int]) -> list[Prompt]:
    return [Prompt(f"{n}", "arithmetic", {"answer": n}, family="f", form="AB"[n % 2]) for n in numbers]


def sides(clusters: list[str], share: float, seed: int = 0) -> dict[str, set[str]]:
    """Return on which sides the prompts of each cluster are."""
    found: dict[str, set[str]] = {name: set() for name in clusters}
    for prompt, cluster in zip(
        assign_splits(prompts(list(range(len(clusters)))), clusters, share, seed), clusters, strict=True
    ):
        found[cluster].add(prompt.split)
    return found


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(0, 3), st.randoms())
def test_what_is_selected_depends_on_content_and_seed_alone(numbers: list[int], seed: int, random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (select_prompts(prompts(n), None, seed) for n in (numbers, shuffled))
    assert first.prompts == second.prompts
    assert first.duplicates == second.duplicates == len(numbers) - len(set(numbers))


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.floats(0, 0.99), st.integers(0, 9))
def test_a_cluster_is_on_one_side_and_neither_side_is_empty(clusters: list[str], share: float, seed: int) -> None:
    found = sides(clusters, share, seed)
    assert all(len(where) == 1 for where in found.values())
    used = set().union(*found.values())
    assert used == ({"train", "test"} if share > 0 and len(found) > 1 else {"train"})


def test_about_a_share_of_the_clusters_is_held_out() -> None:
    found = sides([f"c{number // 2}" for number in range(4000)], 0.2)
    held_out = sum("test" in where for where in found.values())
    assert abs(held_out - 400) < 4 * (2000 * 0.2 * 0.8) ** 0.5


def test_a_prompt_stays_on_its_side_where_the_pool_grows() -> None:
    names = [f"c{number}" for number in range(600)]
    small, large = sides(names[:60], 0.2), sides(names, 0.2)
    assert small == {name: large[name] for name in small}


def test_the_seed_chooses_what_is_held_out() -> None:
    names = [f"c{number}" for number in range(60)]
    assert sides(names, 0.2, seed=1) != sides(names, 0.2, seed=2)


def test_most_of_the_pool_is_never_held_out() -> None:
    for seed in range(40):
        assert sides(["large"] * 9 + ["a", "b"], 0.5, seed)["large"] == {"train"}


def test_the_limit_counts_distinct_prompts_of_a_random_source() -> None:
    chosen = select_prompts(prompts([1, 1, 2, 3, 4]), 3, seed=0, in_order=True)
    assert [p.prompt for p in chosen.prompts] == ["1", "2", "3"]
    assert chosen.duplicates == 1


def test_no_prompts_is_an_error() -> None:
    with pytest.raises(LearnableError, match="no prompts"):
        select_prompts([], None, seed=0)


def test_text_and_chats_are_no_one_set() -> None:
    chat = Prompt((Message("user", "5"),), "arithmetic", {"answer": 5}, family="f", form="A", source="q.jsonl, line 7")
    with pytest.raises(LearnableError, match=r"builtin is text and q\.jsonl, line 7 is a list of messages"):
        select_prompts([*prompts([1, 2]), chat], None, seed=0)
