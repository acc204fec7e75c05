"""Pools that the tests of a module share: a worker takes as long to start as most of them to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learnable.verifiers.pool.scoring import ScoringPool


@pytest.fixture(scope="module")
def one_worker() -> Iterator[ScoringPool]:
    with ScoringPool(1) as pool:
        yield pool


@pytest.fixture(scope="module")
def two_workers() -> Iterator[ScoringPool]:
    with ScoringPool(2) as pool:
        yield pool
