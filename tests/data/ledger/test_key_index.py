from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.ledger import key_index
from learnable.data.ledger.key_index import KeyIndex, hash_keys

KEYS = st.sets(st.integers(0, 30).map(str), max_size=6)


@given(st.lists(KEYS, max_size=12), KEYS, st.integers(1, 5))
def test_against_a_plain_loop(files: list[set[str]], wanted: set[str], recent: int) -> None:
    index = KeyIndex()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_index, "RECENT", recent)
        for number, keys in enumerate(files):
            index.add(f"{number}", hash_keys(keys))
            assert index.find(hash_keys(wanted)) == {f"{n}" for n in range(number + 1) if files[n] & wanted}
    assert index.names == {f"{number}" for number in range(len(files))}
