from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.data.sources.selection import select_prompts


def prompts(numbers: list[int]) -> list[Prompt]:
    return [Prompt(f"{n}", "arithmetic", {"answer": n}, family="f", form="AB"[n % 2]) for n in numbers]


@given(st.lists(st.integers(0, 20), min_size=1), st.floats(0, 0.99), st.integers(0, 3), st.randoms())
def test_splits_depend_on_content_and_seed_alone(numbers: list[int], share: float, seed: int, random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (select_prompts(prompts(n), None, share, seed) for n in (numbers, shuffled))
    assert {p.prompt_id: p.split for p in first.prompts} == {p.prompt_id: p.split for p in second.prompts}
    assert first.duplicates == second.duplicates == len(numbers) - len(set(numbers))


def test_each_form_holds_out_its_share() -> None:
    chosen = select_prompts(prompts(list(range(40))), None, 0.2, seed=1)
    for form in "AB":
        assert sum(p.split == "test" for p in chosen.prompts if p.form == form) == 4


def test_the_limit_counts_distinct_prompts() -> None:
    chosen = select_prompts(prompts([1, 1, 2, 3, 4]), 3, 0.0, seed=0)
    assert [p.prompt for p in chosen.prompts] == ["1", "2", "3"]
    assert chosen.duplicates == 1


def test_no_prompts_is_an_error() -> None:
    with pytest.raises(LearnableError, match="no prompts"):
        select_prompts([], None, 0.2, seed=0)


def test_text_and_chats_are_no_one_set() -> None:
    chat = Prompt((Message("user", "5"),), "arithmetic", {"answer": 5}, family="f", form="A", source="q.jsonl, line 7")
    with pytest.raises(LearnableError, match=r"builtin is text and q\.jsonl, line 7 is a list of messages"):
        select_prompts([*prompts([1, 2]), chat], None, 0.2, seed=0)
