from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.ledger import key_index
from learnable.data.ledger.key_index import KeyIndex, hash_keys

NAMES = st.integers(0, 20).map(str)
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


@given(st.dictionaries(NAMES, KEYS.filter(len), max_size=8), KEYS, st.sets(NAMES))
def test_what_is_written_finds_the_same(files: dict[str, set[str]], wanted: set[str], left_out: set[str]) -> None:
    index, again = KeyIndex(), KeyIndex()
    again.add("other", hash_keys(["1"]))
    for name, keys in files.items():
        index.add(name, hash_keys(keys))
    kept = files.keys() - left_out
    assert again.load(index.dump(files.keys() - left_out)) == kept
    found = {name for name in kept if files[name] & wanted}
    assert again.find(hash_keys(wanted)) == found | ({"other"} if "1" in wanted else set())
    assert again.names == {*kept, "other"}


@given(st.lists(KEYS, max_size=8), st.lists(NAMES, max_size=8), st.permutations(range(8)), st.sets(st.integers(0, 7)))
def test_the_first_file_of_a_key(
    files: list[set[str]], wanted: list[str], order: list[int], uncounted: set[int]
) -> None:
    index = KeyIndex()
    for number, keys in enumerate(files):
        index.add(f"{number}", hash_keys(keys))
    counted = [number for number in order if number < len(files) and number not in uncounted]
    places = {f"{number}": place for place, number in enumerate(counted)}
    first = [next((p for p, number in enumerate(counted) if key in files[number]), len(counted)) for key in wanted]
    assert index.find_first(hash_keys(wanted), places).tolist() == first


@pytest.mark.parametrize("data", [b"", b"ARROW1", b"x" * 100])
def test_what_is_no_index_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        KeyIndex().load(data)


@given(st.lists(st.one_of(st.text(max_size=21), st.from_regex(r"\A[0-9a-f]{20}\Z"))))
def test_a_key_has_one_hash_whatever_comes_with_it(keys: list[str]) -> None:
    assert hash_keys(keys).tolist() == [hash_keys([key])[0] for key in keys]


def test_hashes_are_the_same_in_every_process() -> None:
    assert hash_keys(["0123456789abcdef0123", "question"]).tolist() == [0x2301EFCDAB896745, -52408850931252657]
