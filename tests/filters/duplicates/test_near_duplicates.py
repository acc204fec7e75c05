from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.filters.duplicates.near_duplicates import (
    MIN_OWN_WORDS,
    PERMUTATIONS,
    TEMPLATE_RUN,
    choose_band_shape,
    find_duplicates,
)
from learnable.filters.duplicates.texts import TEMPLATE_TEXTS, split_words
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES


def ask(text: str, answer: object = 1, verifier: str = "choice") -> Prompt:
    return Prompt(text, verifier, {"answer": answer}, "f", "F")


def sentence(seed: object, words: int) -> str:
    rng = random.Random(f"{seed}")
    return " ".join("".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(words))


def change(text: str, position: int, word: str) -> str:
    words = text.split()
    words[position] = word
    return " ".join(words)


def collisions(prompts: Sequence[Prompt], near: float | None = 0.9) -> dict[str, str]:
    found = find_duplicates(prompts, near)
    return dict(zip(found["prompt_id"], found["collides_with"], strict=True))


LONG = sentence("long", 40)


@pytest.mark.parametrize(
    "variant",
    [
        LONG.upper() + "!",
        LONG.replace(" ", ",\n "),
        *(change(LONG, position, "other") for position in (0, 1, 20, 39)),
        f"{LONG} Please think very carefully.",
        LONG.rsplit(" ", 2)[0],
    ],
)
def test_planted_duplicates_are_found(variant: str) -> None:
    first, second, other = ask(LONG), ask(variant), ask(sentence("other", 40))
    assert collisions([first, other, second]) == {second.prompt_id: first.prompt_id}


def test_every_planted_pair_among_many_is_found() -> None:
    originals = [ask(sentence(i, 40 + i % 60), i % 3) for i in range(300)]
    copies = [ask(change(prompt.text, i % 40, "other"), i % 3) for i, prompt in enumerate(originals)]
    assert collisions([*originals, *copies]) == {
        copy.prompt_id: original.prompt_id for copy, original in zip(copies, originals, strict=True)
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ask("Write a haiku about the sea."), ask("Write a haiku about the sky.")),
        (ask("2 + 2 =", 4), ask("2 * 2 =", 4)),
        (ask("12 + 7 =", 19), ask("12 + 8 =", 20)),
        (ask(LONG, 1), ask(LONG, 2)),
        (ask(LONG), ask(LONG, verifier="arithmetic")),
        (ask(f"{LONG} 12 of 30"), ask(f"{LONG} 30 of 12")),
        (ask(LONG), ask(change(LONG, 20, "7"))),
        (ask(LONG), ask(change(change(LONG, 5, "other"), 25, "other"))),
        (ask("?"), ask("!")),
    ],
)
def test_other_questions_are_no_duplicates(one: Prompt, other: Prompt) -> None:
    assert collisions([one, other]) == {}


def test_short_prompts_are_duplicates_when_exact() -> None:
    first, second = ask("Write a haiku."), ask("write, a HAIKU")
    [row] = find_duplicates([first, second]).to_dicts()
    assert row == {
        "prompt_id": second.prompt_id,
        "decision": "duplicate",
        "collides_with": first.prompt_id,
        "overlap": 1.0,
    }
    seven = sentence("short", MIN_OWN_WORDS - 1)
    assert collisions([ask(seven), ask(f"{seven} {seven.split()[0]}")], near=0.1) == {}


def test_without_near_only_exact_ones_count() -> None:
    prompts = [ask(LONG), ask(LONG.upper()), ask(change(LONG, 20, "other"))]
    assert collisions(prompts, near=None) == {prompts[1].prompt_id: prompts[0].prompt_id}


def test_a_chain_does_not_drift_and_copies_of_a_copy_resolve() -> None:
    near = change(LONG, 5, "one")
    far = change(near, 30, "two")  # near to `near`, not to `LONG`
    prompts = [ask(LONG), ask(near), ask(far), ask(near.upper())]
    kept, copy, other, again = (prompt.prompt_id for prompt in prompts)
    found = find_duplicates(prompts)
    assert dict(zip(found["prompt_id"], found["collides_with"], strict=True)) == {copy: kept, again: kept}
    assert other not in found["prompt_id"].to_list()
    assert found["overlap"].to_list() == [37 / 41, 37 / 41]


@pytest.mark.parametrize("in_system", [True, False])
def test_questions_under_one_long_instruction_are_no_duplicates(in_system: bool) -> None:
    instruction = sentence("instruction", 120)
    questions = [f"Is {sentence(i, 1)} in {sentence(-i - 1, 1)}? Yes or no." for i in range(TEMPLATE_TEXTS)]
    if in_system:
        prompts = [
            Prompt((Message("system", instruction), Message("user", question)), "choice", {"answer": "Yes"}, "f", "F")
            for question in questions
        ]
    else:
        prompts = [ask(f"{instruction} {question}", "Yes") for question in questions]
    assert collisions(prompts) == {}
    # Fewer of them are copies, for all that anybody can tell.
    assert len(collisions(prompts[:-1])) == TEMPLATE_TEXTS - 2


def test_copies_under_a_template_are_found() -> None:
    instruction = sentence("instruction", 60)
    prompts = [ask(f"{instruction} {sentence(i, 40)}") for i in range(20)]
    copy = ask(change(prompts[3].text, 80, "other"))
    assert collisions([*prompts, copy]) == {copy.prompt_id: prompts[3].prompt_id}


def test_one_text_under_two_instructions_is_two_prompts() -> None:
    into_french, into_german = sentence("French", 20), sentence("German", 20)
    prompts = [ask(f"{instruction} {sentence(i, 40)}") for i in range(5) for instruction in (into_french, into_german)]
    assert collisions(prompts) == {}


def test_repeated_words_count_as_often_as_they_come() -> None:
    assert collisions([ask("la " * 40), ask("la " * 20)]) == {}
    assert len(collisions([ask("la " * 40), ask("la " * 39)])) == 1


def test_a_chat_of_one_turn_is_its_text() -> None:
    chat = Prompt((Message("user", LONG),), "choice", {"answer": 1}, "f", "F")
    assert collisions([ask(LONG), chat]) == {chat.prompt_id: ask(LONG).prompt_id}


@pytest.mark.parametrize("family", DEFAULT_FAMILIES)
def test_builtin_prompts_are_distinct(family: str) -> None:
    prompts = list(builtin_prompts(families=[family], limit=400))
    # Also as a user's file has them, where the spec names no more than the form.
    bare = [Prompt(p.prompt, p.verifier, {"form": p.form}, p.family, p.form) for p in prompts]
    assert find_duplicates(prompts).is_empty()
    if family != "programs":  # there the same function is asked for twice, with and without an example
        assert find_duplicates(bare).is_empty()


def test_builtin_prompts_of_all_families_are_distinct() -> None:
    assert find_duplicates(list(builtin_prompts(limit=400))).is_empty()


@pytest.mark.parametrize("near", [0.0, -1.0, 1.1])
def test_an_impossible_threshold_is_named(near: float) -> None:
    with pytest.raises(LearnableError, match="over 0 and up to 1"):
        find_duplicates([ask(LONG)], near)


@given(st.floats(0.15, 1.0))
def test_bands_miss_next_to_nothing(near: float) -> None:
    bands, rows = choose_band_shape(near)
    assert bands >= 2
    assert bands * rows <= PERMUTATIONS
    assert (1 - near**rows) ** bands <= 1e-6


BASES = [sentence(i, 24).split() for i in range(2)]


@st.composite
def pools(draw: st.DrawFn) -> list[Prompt]:
    """A few texts, each many times with a few words replaced, added or taken away."""
    prompts = []
    for _ in range(draw(st.integers(1, 12))):
        words = list(draw(st.sampled_from(BASES)))[: draw(st.sampled_from([6, 12, 24, 24]))]
        for _ in range(draw(st.integers(0, 2))):
            position = draw(st.integers(0, len(words) - 1))
            words[position : position + draw(st.integers(0, 1))] = draw(st.sampled_from([["x"], ["7"], ["Y", "y"], []]))
        prompts.append(ask(" ".join(words), draw(st.integers(1, 2))))
    return prompts


def by_hand(prompts: Sequence[Prompt], near: float) -> dict[str, str]:
    """Compare every prompt with every kept one, word pair by word pair."""
    pool = list({prompt.prompt_id: prompt for prompt in prompts}.values())
    words = {prompt.prompt_id: split_words(prompt.text) for prompt in pool}
    distinct = {(p.spec_json, tuple(words[p.prompt_id])) for p in pool}
    runs: Counter[tuple[str, ...]] = Counter()
    for _, text in distinct:
        runs.update({text[i : i + TEMPLATE_RUN] for i in range(len(text) - TEMPLATE_RUN + 1)})
    kept: list[Prompt] = []
    found: dict[str, str] = {}
    for prompt in pool:
        rated = [(overlap(words[prompt.prompt_id], words[k.prompt_id], runs), -i) for i, k in enumerate(kept)]
        rated = [(share, i) for share, i in rated if share >= near and same_question(prompt, kept[-i])]
        if rated:
            found[prompt.prompt_id] = kept[-max(rated)[1]].prompt_id
        else:
            kept.append(prompt)
    return found


def same_question(one: Prompt, other: Prompt) -> bool:
    numbers = [[word for word in split_words(prompt.text) if word.isdigit()] for prompt in (one, other)]
    return one.spec == other.spec and numbers[0] == numbers[1]


def overlap(one: list[str], other: list[str], runs: Counter[tuple[str, ...]]) -> float:
    if one == other:
        return 1.0
    own = [strip_templates(words, runs) for words in (one, other)]
    return min(jaccard(one, other), jaccard(*own)) if min(map(len, own)) >= MIN_OWN_WORDS else 0.0


def strip_templates(words: list[str], runs: Counter[tuple[str, ...]]) -> list[str]:
    starts = [i for i in range(len(words)) if runs[tuple(words[i : i + TEMPLATE_RUN])] >= TEMPLATE_TEXTS]
    return [word for i, word in enumerate(words) if not any(start <= i < start + TEMPLATE_RUN for start in starts)]


def jaccard(one: list[str], other: list[str]) -> float:
    left, right = (Counter(pairwise(words)) for words in (one, other))
    return (left & right).total() / (left | right).total()


@given(pools(), st.sampled_from([0.5, 0.8, 0.9, 1.0]))
def test_against_a_plain_loop(prompts: list[Prompt], near: float) -> None:
    assert collisions(prompts, near) == by_hand(prompts, near)


@given(pools())
def test_the_kept_one_is_never_dropped_and_stands_before(prompts: list[Prompt]) -> None:
    found = find_duplicates(prompts, 0.7)
    order = list(dict.fromkeys(prompt.prompt_id for prompt in prompts))
    assert not set(found["collides_with"]) & set(found["prompt_id"])
    assert found["prompt_id"].to_list() == [one for one in order if one in set(found["prompt_id"])]
    for row in found.to_dicts():
        assert order.index(row["collides_with"]) < order.index(row["prompt_id"])
        assert 0.7 <= row["overlap"] <= 1
    assert found.equals(find_duplicates(prompts, 0.7))
    left = [prompt for prompt in prompts if prompt.prompt_id not in set(found["prompt_id"])]
    assume(len(set(order)) < TEMPLATE_TEXTS)  # with fewer texts left, a template may turn into copies
    assert find_duplicates(left, 0.7).is_empty()


@given(pools(), st.data())
def test_dress_changes_no_decision(prompts: list[Prompt], data: st.DataObject) -> None:
    mark = data.draw(st.sampled_from([", ", "! ", "\n\n", " (", "; "]))
    dressed = [ask(prompt.text.replace(" ", mark).upper(), prompt.spec["answer"]) for prompt in prompts]
    new_ids = dict(zip((p.prompt_id for p in prompts), (p.prompt_id for p in dressed), strict=True))
    assume(len(set(new_ids.values())) == len(new_ids))
    renamed = {new_ids[one]: new_ids[other] for one, other in collisions(prompts).items()}
    assert collisions(dressed) == renamed


@given(st.integers(0, 39), st.integers(0, 99), st.integers(0, 99))
def test_other_numbers_are_another_prompt(position: int, one: int, other: int) -> None:
    assume(one != other)
    assert collisions([ask(change(LONG, position, str(n))) for n in (one, other)], near=0.5) == {}


def test_nothing_found_has_its_columns_too() -> None:
    assert find_duplicates([]).schema == find_duplicates([ask(LONG), ask(LONG.upper())]).schema
    assert find_duplicates([]).schema["overlap"] == pl.Float64
