"""What is measured of a batch, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Score
from learnable.train.measures import (
    MASTERED_BY,
    measure_components,
    measure_gain,
    measure_groups,
    measure_memory,
    measure_texts,
)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.floats(0, 1)), min_size=1, max_size=40))
def test_measure_groups_equal_a_plain_loop(rows: list[tuple[str, float | None]]) -> None:
    metrics = dict(measure_groups([key for key, _ in rows], [Score(reward, None) for _, reward in rows]))
    stds, means = [], []
    for key in "abc":
        known = [reward for other, reward in rows if other == key and reward is not None]
        if known:
            stds.append(np.std(known))
            means.append(np.mean(known))

    assert metrics["unscored_share"] == pytest.approx(sum(reward is None for _, reward in rows) / len(rows))
    assert ("within_group_std" in metrics) == bool(stds)
    assert ("between_group_std" in metrics) == (len(means) > 1)
    if len(means) > 1:
        assert metrics["between_group_std"] == pytest.approx(np.std(means), abs=1e-12)
    if stds:
        assert metrics["within_group_std"] == pytest.approx(np.mean(stds), abs=1e-12)


def test_the_gain_is_a_mean_over_groups_of_what_is_known() -> None:
    rewards = [1.0, 0.0, None, 0.8, 0.3]
    assert dict(measure_gain(list("aaabc"), rewards, [0.4, 0.4, 0.4, 0.2, None])) == {
        "reward_gain": pytest.approx(0.35),
        "lost_share": pytest.approx(-(0.6**2 + 0.8) / 2),
    }
    assert dict(measure_gain(["a"], [1.0], [None])) == {}


def test_lost_are_groups_without_one_completion_near_what_is_promised() -> None:
    keys = ["a"] * 16 + ["b"] * 16 + ["hopeless"] * 16
    promised = [0.5] * 32 + [0.1] * 16
    assert dict(measure_gain(keys, [0.0] * 48, promised))["lost_share"] == pytest.approx(1, abs=1e-4)
    assert dict(measure_gain(keys, [0.45] * 48, promised))["lost_share"] == pytest.approx(0, abs=1e-4)
    assert dict(measure_gain(keys, [1.0] + [0.0] * 47, promised))["lost_share"] == pytest.approx(0.5, abs=1e-4)
    assert "lost_share" not in dict(measure_gain(["hopeless"], [0.0], [0.1]))


@pytest.mark.parametrize(("rate", "size"), [(0.2, 2), (0.2, 4), (0.12, 4), (0.5, 2), (0.15, 16)])
def test_by_chance_no_share_of_groups_is_lost(rate: float, size: int) -> None:
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(5000), size).astype(str).tolist()
    rewards = (rng.random(5000 * size) < rate).astype(float).tolist()
    assert dict(measure_gain(keys, rewards, [rate] * len(keys)))["lost_share"] == pytest.approx(0, abs=0.03)


def test_components_are_averaged_over_the_completions_that_have_them() -> None:
    scores = [
        Score(1.0, True, {"lines": 1.0}),
        Score(0.5, False, {"lines": 0.0, "rhyme": 1.0}),
        Score.unscored("broken"),
    ]

    assert dict(measure_components(["poetry"] * 3, scores)) == {
        "component/poetry/lines": 0.5,
        "component/poetry/rhyme": 1.0,
    }


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from("xyz"), max_size=9)), max_size=12))
def test_measure_texts_equal_a_plain_loop(rows: list[tuple[str, list[str]]]) -> None:
    metrics = dict(measure_texts([key for key, _ in rows], [text for _, text in rows]))
    repeated = []
    for _, text in rows:
        grams = [tuple(text[at : at + 4]) for at in range(len(text) - 3)]
        repeated += [sum(gram in grams[:at] for at, gram in enumerate(grams)) / len(grams)] if grams else []
    distinct = []
    for group in "ab":
        pairs = [tuple(text[at : at + 2]) for key, text in rows if key == group for at in range(len(text) - 1)]
        distinct += [len(set(pairs)) / len(pairs)] if pairs else []
    assert metrics == {
        name: pytest.approx(np.mean(values))
        for name, values in (("repeated_ngrams", repeated), ("distinct_ngrams", distinct))
        if values
    }


def test_a_prompt_of_few_completions_is_never_mastered() -> None:
    mastered: set[str] = set()
    dict(measure_memory(["a"] * (MASTERED_BY - 1), [True] * (MASTERED_BY - 1), mastered))
    assert mastered == set()
    assert dict(measure_memory(["a"] * (MASTERED_BY + 1), [True] * MASTERED_BY + [None], mastered)) == {
        "mastered_share": 1.0,
        "forgotten_share": 0.0,
    }
    assert mastered == {"a"}  # what could not be scored counts for nothing
    lost = dict(measure_memory(["a", "a"], [None, None], mastered))
    assert lost == {"mastered_share": 0.0, "forgotten_share": 0.0}
