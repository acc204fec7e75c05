"""k-means finds groups that lie apart, from any seed."""

from __future__ import annotations

import numpy as np
import pytest

from learnable.verifiers.poetry.language.training.clustering import find_clusters

CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0], [4.0, 20.0]])


@pytest.mark.parametrize("seed", range(6))
def test_groups_that_lie_apart_are_found_from_any_seed(seed: int) -> None:
    owner = np.repeat(np.arange(len(CENTRES)), 30)
    points = CENTRES[owner] + np.random.default_rng(1).normal(0, 0.5, (len(owner), 2))
    centres, labels = find_clusters(points, np.ones(len(points)), len(CENTRES), seed)
    assert all(len(set(labels[owner == group])) == 1 for group in range(len(CENTRES)))
    assert len(set(labels)) == len(CENTRES)
    nearest = np.abs(centres[:, None] - CENTRES).sum(2).min(1)
    assert nearest.max() < 0.5


def test_points_count_by_their_weights() -> None:
    points = np.array([[0.0], [1.0]])
    centres, _ = find_clusters(points, np.array([3.0, 1.0]), 1, 0)
    assert centres[0, 0] == pytest.approx(0.25)
