"""Which measured speed is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage.speeds import Speed, find_speed, note_speed


@pytest.fixture
def root(tmp_path: Path) -> UPath:
    return UPath(tmp_path)


def test_the_last_speed_is_found_by_weights_and_engine(root: UPath) -> None:
    note_speed(root, "policy@abc", "vllm", Speed(1000, 2.0))
    note_speed(root, "policy@abc", "vllm", Speed(3000, 2.0))
    note_speed(root, "policy@abc", "server", Speed(50, 2.0))
    found = find_speed(root, "elsewhere@abc", "vllm")
    assert found == Speed(3000, 2.0)
    assert found.tokens_per_second == 1500
    assert find_speed(root, "policy@def", "vllm") is None


def test_a_moment_counts_only_where_nothing_else_is_known(root: UPath) -> None:
    note_speed(root, "a/b@c", "ray", Speed(10, 0.1))
    assert find_speed(root, "a/b@c", "ray") == Speed(10, 0.1)
    note_speed(root, "a/b@c", "ray", Speed(900, 3.0))
    note_speed(root, "a/b@c", "ray", Speed(10, 0.1))
    assert find_speed(root, "a/b@c", "ray") == Speed(900, 3.0)


def test_nothing_generated_is_no_speed(root: UPath) -> None:
    note_speed(root, "p@x", "vllm", Speed(0, 0.0))
    assert not (root / "speeds").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"tokens": 5}', '{"tokens": 5, "seconds": 0}', "\xff"])
def test_a_file_that_is_not_understood_counts_as_none(root: UPath, text: str) -> None:
    note_speed(root, "p@x", "vllm", Speed(5, 5.0))
    [file] = (root / "speeds").iterdir()
    file.write_bytes(text.encode("latin-1"))
    assert find_speed(root, "p@x", "vllm") is None


def test_a_speed_that_cannot_be_written_is_named(root: UPath) -> None:
    (root / "speeds").write_text("in the way")
    with pytest.raises(LearnableError, match=r"cannot write .*speeds"):
        note_speed(root, "p@x", "vllm", Speed(5, 5.0))
