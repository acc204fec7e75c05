"""What a run holds is not walked through again and again."""

from __future__ import annotations

import gc

import pytest

from learnable.flows.garbage import RARELY, rarely_collected, set_aside


def test_within_it_garbage_is_collected_rarely_and_afterwards_as_before() -> None:
    """A notebook that runs a curation goes on as it did."""
    before = gc.get_threshold()
    with rarely_collected():
        set_aside()
        assert (gc.get_threshold(), gc.get_freeze_count() > 0) == (RARELY, True)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_an_error_ends_it_too() -> None:
    """A run that failed leaves nothing behind."""
    before = gc.get_threshold()

    def fail() -> None:
        with rarely_collected():
            set_aside()
            raise KeyError("anything")

    with pytest.raises(KeyError):
        fail()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_outside_of_it_nothing_is_set_aside() -> None:
    """Objects of a process that this package does not own stay as they are."""
    set_aside()
    assert gc.get_freeze_count() == 0
