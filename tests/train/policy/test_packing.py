from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from learnable.train.policy.packing import ROW_TOKENS, Encoded, Rows, pack
from learnable.train.policy.tokenizer import DECISIVE, weigh

SIZES = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 300)), max_size=30)


def encode(sizes):
    return [
        Encoded([number + 1] * prompt, [number + 1] * completion, [float(number + 1)] * completion)
        for number, (prompt, completion) in enumerate(sizes)
    ]


@given(sizes=SIZES)
def test_every_document_that_fits_is_packed_whole_and_once(sizes):
    rows = pack(encode(sizes))
    fitting = {number + 1: a + b for number, (a, b) in enumerate(sizes) if a + b <= ROW_TOKENS}
    counts = {int(token): int((rows.ids == token).sum()) for token in np.unique(rows.ids) if token}
    assert counts == fitting
    for token in fitting:
        row, columns = np.nonzero(rows.ids == token)
        assert len(set(row)) == 1
        assert list(rows.positions[row, columns]) == list(range(len(columns)))
        assert len(set(rows.documents[row, columns])) == 1


@given(sizes=SIZES)
def test_weights_sit_one_place_before_the_tokens_they_weigh(sizes):
    rows = pack(encode(sizes))
    row, column = np.nonzero(rows.weights)
    assert (rows.ids[row, column + 1] == rows.weights[row, column]).all()
    fitting = [completion for prompt, completion in sizes if prompt + completion <= ROW_TOKENS]
    assert len(row) == sum(fitting)


def test_rows_survive_the_disk(tmp_path):
    rows = pack(encode([(3, 4), (5, 6)]))
    rows.save(tmp_path / "rows.npz")
    again = Rows.load(tmp_path / "rows.npz")
    for name in ("ids", "documents", "weights", "positions"):
        assert (getattr(again, name) == getattr(rows, name)).all()


def test_line_ends_and_short_answers_decide():
    line_break, end = 7, 2
    poem = [20, 21, line_break, 22, 23, 24, 25, 26, 27, end]
    weights = weigh(poem, {line_break, end})
    assert [token for token, weight in zip(poem, weights, strict=True) if weight == DECISIVE] == [21, 27]
    assert weigh([5, end], {line_break, end}) == [DECISIVE, DECISIVE]
