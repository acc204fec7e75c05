"""A packed pool is the list of its prompts: equal objects, in order, with ids that nobody computed again."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from learnable.data.records import Message, Prompt
from learnable.data.sources.packed import IdIndex, PackedPrompts, PackedRows
from learnable.data.tables import prompts_table

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
texts = st.text(max_size=12) | st.lists(st.builds(Message, st.text(max_size=4), st.text(max_size=8)), min_size=1).map(
    tuple
)
prompts = st.builds(
    Prompt,
    prompt=texts,
    verifier=st.sampled_from(["number", "simulated"]),
    spec=st.dictionaries(st.text(max_size=4), json_values, max_size=3),
    family=st.sampled_from(["a", "é", "b"]),
    form=st.sampled_from(["F", "g"]),
    difficulty=st.none() | st.floats(1, 10),
    split=st.sampled_from(["train", "test"]),
    columns=st.dictionaries(st.text(max_size=4), json_values, max_size=2),
    named_problem=st.sampled_from(["", "p"]),
)


def read(prompt: Prompt) -> list[object]:
    return [getattr(prompt, field.name) for field in fields(prompt)]


@given(st.lists(prompts, max_size=8))
def test_prompts_come_back_as_they_were(pool: list[Prompt]) -> None:
    packed = PackedPrompts(pool)
    assert [read(prompt) for prompt in packed] == [read(prompt) for prompt in pool]
    assert packed == pool
    assert packed[1:] == pool[1:]
    assert packed.prompt_ids == [prompt.prompt_id for prompt in pool]
    assert (packed.families, packed.verifiers) == ([p.family for p in pool], {p.verifier for p in pool})


@given(st.lists(prompts, min_size=1, max_size=8), st.data())
def test_what_is_taken_or_split_is_a_pool_of_its_own(pool: list[Prompt], data: st.DataObject) -> None:
    packed = PackedPrompts(pool)
    places = data.draw(st.lists(st.integers(0, len(pool) - 1)))
    taken = packed.take(places)
    taken.append(pool[0])
    assert taken == [*(pool[place] for place in places), pool[0]]
    assert packed.with_split(True for _ in pool) == [replace(prompt, split="test") for prompt in pool]
    assert packed == pool


@given(st.lists(prompts, min_size=1, max_size=8))
def test_rows_without_texts_are_made_whole_as_a_table_has_them(pool: list[Prompt]) -> None:
    alike = [prompt for prompt in pool if isinstance(prompt.prompt, str) == isinstance(pool[0].prompt, str)]
    packed = PackedPrompts(alike)
    assert (packed.kinds, packed.carry_columns) == ({isinstance(pool[0].prompt, str)}, any(p.columns for p in alike))
    in_order = sorted(alike, key=lambda prompt: (prompt.family, prompt.form, prompt.prompt_id))
    whole = pl.DataFrame(prompts_table(in_order)).with_columns(more=pl.int_range(pl.len()))
    rows = PackedRows(packed, packed.list_rows().with_columns(more=pl.int_range(pl.len())))
    assert_frame_equal(rows.rows, whole.select(rows.rows.columns))
    assert_frame_equal(rows.slice(0, len(alike) + 1), whole)
    assert_frame_equal(rows.slice(1, 2), whole.slice(1, 2))
    assert rows.slice(0, 0).schema == whole.schema


@given(st.lists(prompts, max_size=8))
def test_ids_are_found_as_in_a_dictionary(pool: list[Prompt]) -> None:
    index = IdIndex(PackedPrompts(pool).keys[:, 0])
    ids = [prompt.prompt_id for prompt in pool]
    assert index.find(ids).tolist() == [ids.index(name) for name in ids]
    assert [index[name] for name in ids] == [[place for place, one in enumerate(ids) if one == name] for name in ids]
    assert index["0" * 20] == []
    with pytest.raises(KeyError):
        index.find(["0" * 20])


def test_ids_that_end_in_zeros_are_found() -> None:
    """Numpy gives its bytes without them."""
    ids = ["00" * 10, "11" * 9 + "00", "11" * 8 + "0000", "22" * 10, "11" * 9 + "00"]
    index = IdIndex(np.frombuffer(bytes.fromhex("".join(ids)), "S10"))
    assert [index[name] for name in ids] == [[0], [1, 4], [2], [3], [1, 4]]
    assert index.find(ids).tolist() == [0, 1, 2, 3, 1]
