from __future__ import annotations

from itertools import islice, product

from hypothesis import given
from hypothesis import strategies as st

from learnable.data.sources.family import shuffled_grid, shuffled_range


@given(size=st.integers(0, 200), seed=st.text(max_size=5))
def test_a_shuffled_range_is_a_permutation(size, seed):
    assert sorted(shuffled_range(size, seed)) == list(range(size))


def test_a_shuffled_range_may_be_huge():
    assert len(set(islice(shuffled_range(10**18, "a"), 1000))) == 1000


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3), seed=st.text(max_size=5))
def test_a_grid_yields_every_combination_once(sizes, seed):
    axes = [range(size) for size in sizes]
    assert sorted(shuffled_grid(seed, *axes)) == sorted(product(*axes))
