from __future__ import annotations

import numpy as np
import pytest

from learnable.train.policy.model import compute_loss, make_model, schedule_rate
from learnable.train.policy.packing import Encoded, pack


def test_the_rate_warms_up_holds_and_falls():
    rates = [schedule_rate(step, 1000) for step in range(1000)]
    assert rates[0] < rates[59] == rates[299] == 1.0
    assert rates[300:] == sorted(rates[300:], reverse=True)
    assert rates[-1] == 0.02


@pytest.fixture(scope="module")
def model():
    return make_model(0).eval()


def test_documents_in_a_row_do_not_see_each_other(model):
    after = Encoded([1, 9, 10], [11, 12, 2], [1.0, 1.0, 1.0])
    losses = [
        compute_loss(model, pack([Encoded([1, word, word], [word, word, 2], [0.0] * 3), after]), np.array([0])).item()
        for word in range(20, 50, 3)
    ]
    assert len(set(losses)) == 1  # to the last bit, whatever stands before it


def test_weights_scale_what_a_token_counts(model):
    tokens = ([1, 9, 10], [11, 12])
    both, first, last = (
        compute_loss(model, pack([Encoded(*tokens, weights)]), np.array([0])).item()
        for weights in ([3.0, 1.0], [1.0, 0.0], [0.0, 1.0])
    )
    assert abs(first - last) > 0.01
    assert both == pytest.approx((3 * first + last) / 4, abs=abs(first - last) / 100)


def test_the_model_is_the_size_the_card_names(model):
    assert 1_900_000 < sum(parameter.numel() for parameter in model.parameters()) < 1_930_000
